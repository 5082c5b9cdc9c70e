import { MIMEType } from 'node:util';
import { type Problem, problem } from '../platform/problem.ts';
import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { OpsRequest } from './http.ts';

/** Where a browser may say that a request comes from: a page of this app, or the user's own doing. */
const ownSites = ['same-origin', 'none'];

/**
 * The refusal of a call; undefined if it is admitted. Pure.
 *
 * With a sign-in by cookie any web page could make the browser of
 * somebody who is signed in send a request. What changes something is therefore refused if the browser says that it comes
 * from elsewhere (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site), and takes only content
 * types for which a browser would have to ask first (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
 */
export function whyNotAdmitted(
  { role, upload }: Pick<Call, 'role' | 'upload'>,
  { headers }: Pick<OpsRequest, 'headers'>,
  caller: Caller,
): Problem | undefined {
  if (!caller.roles.includes(role)) return problem(403, `${caller.actor} lacks the app role ${role}`);
  if (role === 'ops.read') return undefined;
  const site = headers.get('sec-fetch-site');
  if (site !== null && !ownSites.includes(site)) {
    return problem(403, `the request comes from another site (Sec-Fetch-Site: ${site.slice(0, 20)})`);
  }
  // An upload comes in several types: its handler checks them.
  const given = upload === undefined ? typeOf(headers) : undefined;
  if (given === undefined || given === 'application/json') return undefined;
  return problem(415, 'The body has another type than this call takes.', [
    {
      field: 'Content-Type',
      error: `expected application/json, got ${JSON.stringify(given.slice(0, 60))}`,
    },
  ]);
}

/** The media type of a request; undefined if it has no body. */
function typeOf(headers: OpsRequest['headers']): string | undefined {
  const given = headers.get('content-type');
  if (given !== null) return essenceOf(given);
  const empty = headers.get('transfer-encoding') === null && Number(headers.get('content-length') ?? 0) === 0;
  return empty ? undefined : '';
}

function essenceOf(type: string): string {
  try {
    return new MIMEType(type).essence;
  } catch {
    return type;
  }
}
