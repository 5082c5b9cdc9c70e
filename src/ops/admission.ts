import { MIMEType } from 'node:util';
import { problem, problemResponse } from '../platform/problem.ts';
import type { Role } from './answers/roles.ts';
import type { Caller } from './caller.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import type { Operation } from './openApi/operation.ts';

/** Where a browser may say that a request comes from: a page of this app, or the user's own doing. */
const ownSites = ['same-origin', 'none'];

/**
 * Why a call is not let in; undefined if it is. Pure.
 *
 * Reading needs the role `ops.read`, changing `ops.write`. With a sign-in by cookie any web page could make the browser of
 * somebody who is signed in send a request. What changes something is therefore refused if the browser says that it comes
 * from elsewhere (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site), and takes only content
 * types for which a browser would have to ask first (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
 */
export function whyNotAdmitted(
  { method, body }: Pick<Operation, 'method' | 'body'>,
  { headers }: Pick<OpsRequest, 'headers'>,
  caller: Caller,
): OpsResponse | undefined {
  const needed: Role = method === 'get' ? 'ops.read' : 'ops.write';
  if (!caller.roles.includes(needed)) return refused(`${caller.actor} lacks the app role ${needed}`);
  if (method === 'get') return undefined;
  const site = headers.get('sec-fetch-site');
  if (site !== null && !ownSites.includes(site)) {
    return refused(`the request comes from another site (Sec-Fetch-Site: ${site.slice(0, 20)})`);
  }
  // A call that takes several types checks them as it reads its body.
  const given = body?.csv === undefined ? typeOf(headers) : undefined;
  if (given === undefined || given === 'application/json') return undefined;
  return problemResponse(
    problem(415, 'The body has another type than this call takes.', [
      {
        field: 'Content-Type',
        error: `expected application/json, got ${JSON.stringify(given.slice(0, 60))}`,
      },
    ]),
  );
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

function refused(detail: string): OpsResponse {
  return problemResponse(problem(403, detail));
}
