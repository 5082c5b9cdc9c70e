import { z } from 'zod';
import { type Role, roles } from './answers/overviewAnswers.ts';
import type { OpsRequest } from './http.ts';

/** The person or program that makes a call, and their roles. */
export interface Caller {
  /** Name, for the audit trail. */
  actor: string;
  /** Object id, which no other person ever has. Absent: nobody was signed in. */
  actorId?: string;
  roles: readonly Role[];
}

/** A person or program as records name them. */
export function named({ actor, actorId }: Pick<Caller, 'actor' | 'actorId'>) {
  return actorId === undefined ? { actor } : { actor, actorId };
}

/** Sign-in of callers by the platform: none, in force, or required and not in force. */
export type SignIn = 'none' | 'platform' | 'missing';

const longestActor = 256;

/** The holder of a function key: the host has checked it before the app is asked. */
const byKey: Caller = { actor: 'function key', roles };

/** Sign-in is required, but the platform does not say that it is on: the headers may be anybody's. */
const unknown: Caller = { actor: 'a caller without the sign-in that OPS_SIGN_IN requires', roles: [] };

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

/**
 * Identifies the caller. If the platform signs callers in, it sets the headers and removes what a caller put there; then their app roles
 * count. If it does not, anybody could have set them, so they are ignored: a caller who got this far has a key, which may do
 * everything. Pure.
 */
export function callerOf({ headers }: Pick<OpsRequest, 'headers'>, signIn: SignIn): Caller {
  if (signIn === 'none') return byKey;
  if (signIn === 'missing') return unknown;
  const name = headers.get('x-ms-client-principal-name')?.trim() ?? '';
  const id = headers.get('x-ms-client-principal-id')?.trim() ?? '';
  return {
    actor: (name || id || 'signed-in caller without a name').slice(0, longestActor),
    ...(id === '' ? {} : { actorId: id.slice(0, longestActor) }),
    roles: rolesIn(headers.get('x-ms-client-principal')),
  };
}

function rolesIn(principal: string | null): Role[] {
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

/** The name of this deployment, and the identification of its callers. */
export function callersOf({ environment, signIn }: { environment: string; signIn: SignIn }) {
  return { environment, callerOf: (request: Pick<OpsRequest, 'headers'>) => callerOf(request, signIn) };
}
