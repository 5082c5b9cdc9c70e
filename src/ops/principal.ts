import { z } from 'zod';
import { type Role, roles } from './answers/overviewAnswers.ts';

/**
 * App Service's description of a signed-in caller, as base64 of JSON
 * (https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities).
 */
const principalSchema = z.object({
  /** The type of those claims that are roles. */
  role_typ: z.string().optional(),
  claims: z.array(z.object({ typ: z.string(), val: z.string() })),
});

const usualRoleType = 'roles';

/** The app roles of a signed-in caller, by the header `x-ms-client-principal`. */
export function rolesIn(principal: string | null): Role[] {
  const { claims, role_typ = usualRoleType } = read(principal) ?? { claims: [] };
  const named = claims.filter(({ typ }) => typ === usualRoleType || typ === role_typ).map(({ val }) => val);
  // The role to change things includes the role to look at them.
  if (named.includes('ops.write')) return [...roles];
  return roles.filter((role) => named.includes(role));
}

function read(principal: string | null): z.infer<typeof principalSchema> | undefined {
  if (principal === null) return undefined;
  try {
    return principalSchema.parse(JSON.parse(Buffer.from(principal, 'base64').toString()));
  } catch {
    return undefined;
  }
}
