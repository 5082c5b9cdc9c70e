import { z } from 'zod';
import { shown } from '../importing/fieldErrors.ts';
import { mediaTypeOf } from '../importing/readRows.ts';
import { hasVisible, isPlainText } from '../importing/visibleText.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { type Role, roles } from './answers/overviewAnswers.ts';
import type { Call } from './call.ts';
import type { OpsRequest } from './requests.ts';

export interface Caller {
  /** Name, for the audit trail. */
  actor: string;
  /** Object id, which no other person ever has. Absent: nobody was signed in. */
  actorId?: string;
  roles: readonly Role[];
}

export function named({ actor, actorId }: Pick<Caller, 'actor' | 'actorId'>) {
  return actorId === undefined ? { actor } : { actor, actorId };
}

/** Sign-in of callers by the platform: none, in force, or required and not in force. */
export type SignIn = 'none' | 'platform' | 'missing';

const longestActor = 256;

/**
 * App Service's description of a signed-in caller, as base64 of JSON
 * (https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities).
 */
const principalSchema = z.object({
  /** The type of those claims that are roles. */
  role_typ: z.string().optional(),
  claims: z.array(z.object({ typ: z.string(), val: z.string() })),
});

/** The app roles of a signed-in caller, by the header `x-ms-client-principal`. */
function rolesIn(principal: string): Role[] {
  const { claims, role_typ } = read(principal) ?? { claims: [] };
  const named = claims.filter(({ typ }) => typ === 'roles' || typ === role_typ).map(({ val }) => val);
  // The role to change things includes the role to look at them.
  if (named.includes('ops.write')) return [...roles];
  return roles.filter((role) => named.includes(role));
}

function read(principal: string): z.infer<typeof principalSchema> | undefined {
  try {
    return principalSchema.parse(JSON.parse(Buffer.from(principal, 'base64').toString()));
  } catch {
    return undefined;
  }
}

/** A name in one line of plain text, 80 characters at most; empty if it is none. */
function said(given: string): string {
  try {
    const name = decodeURIComponent(given).trim().slice(0, 80).toWellFormed();
    return isPlainText(name) && hasVisible(name) && !/[\r\n]/.test(name) ? name : '';
  } catch {
    return '';
  }
}

/** Sign-in is required, but the platform does not say that it is on: the headers may be anybody's. */
const unknown: Caller = { actor: 'a caller without the sign-in that OPS_SIGN_IN requires', roles: [] };

/**
 * Identifies the caller. A platform that signs callers in sets its headers and removes what a caller put there: their app roles
 * count. Otherwise anybody could have set them. Then the caller holds a function key, which may do everything: the host has checked
 * it, and tells nothing of it. `X-Actor` is what they say their name is, percent-encoded, which proves and permits nothing. Pure.
 */
export function callerOf({ headers }: Pick<OpsRequest, 'headers'>, signIn: SignIn): Caller {
  if (signIn === 'none') {
    const given = headers.get('x-actor');
    const name = given === null ? '' : said(given);
    return { actor: name === '' ? 'function key' : `function key (says: ${name})`, roles };
  }
  if (signIn === 'missing') return unknown;
  const name = headers.get('x-ms-client-principal-name')?.trim() ?? '';
  const id = headers.get('x-ms-client-principal-id')?.trim() ?? '';
  return {
    actor: (name || id || 'signed-in caller without a name').slice(0, longestActor),
    ...(id === '' ? {} : { actorId: id.slice(0, longestActor) }),
    roles: rolesIn(headers.get('x-ms-client-principal') ?? ''),
  };
}

/**
 * The refusal of a call; undefined if it is admitted. Pure.
 *
 * With a sign-in by cookie any web page could make a browser send a request. A change is therefore refused if the browser says that
 * it comes from elsewhere (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site), and takes only content
 * types for which a browser asks first (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
 */
export function whyNotAdmitted(
  { role, upload }: Pick<Call, 'role' | 'upload'>,
  { headers }: Pick<OpsRequest, 'headers'>,
  caller: Caller,
): Problem | undefined {
  if (!caller.roles.includes(role)) return problem(403, `${caller.actor} lacks the app role ${role}`);
  if (role === 'ops.read') return undefined;
  const site = headers.get('sec-fetch-site');
  // `none`: the user's own doing.
  if (site !== null && site !== 'same-origin' && site !== 'none') {
    return problem(403, `the request comes from another site (Sec-Fetch-Site: ${site.slice(0, 20)})`);
  }
  // An upload comes in several types: its handler checks them.
  const given = upload === undefined ? typeOf(headers) : undefined;
  if (given === undefined || given === 'application/json') return undefined;
  return problem(415, 'The body has another type than this call takes.', [
    {
      field: 'Content-Type',
      error: `expected application/json in UTF-8, got ${shown(headers.get('content-type') ?? '')}`,
    },
  ]);
}

/** The media type of a request, empty if it is none that can be read; undefined if it has no body. */
function typeOf(headers: OpsRequest['headers']): string | undefined {
  const given = headers.get('content-type');
  const empty = headers.get('transfer-encoding') === null && Number(headers.get('content-length') ?? 0) === 0;
  return given === null && empty ? undefined : mediaTypeOf(given);
}
