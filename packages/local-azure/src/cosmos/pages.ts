import { type Answer, type CosmosRequest, headerOf } from './answer.ts';
import type { Container } from './container.ts';
import { askedFor, nothingBehind, pageAgain } from './emptyPages.ts';
import { placeOfWalk, type WalkPlace, walkOn } from './gatewayWalk.ts';
import type { Range } from './ranges.ts';
import { feedCharge } from './requestCharge.ts';
import { withSession } from './requestScope.ts';

/** A page of the range that the request is for, or of the one that its walk over those to be asked has reached. */
export function pageOf(
  container: Container,
  { headers, emptyPage }: CosmosRequest,
  { range, asked }: { range: Range | undefined; asked: readonly Range[] },
  read: (place: WalkPlace) => { json: string[]; charge: number; continuation: string | undefined },
): Answer {
  const given = askedFor(headerOf(headers, 'x-ms-continuation'));
  if (emptyPage === 'empty-page') return feedAnswer(container, [], feedCharge(0, 0), pageAgain(given));
  if (given === nothingBehind) return feedAnswer(container, [], feedCharge(0, 0), undefined);
  const place = range === undefined ? placeOfWalk(asked, given) : { range, continuation: given };
  const { json, charge, continuation } = read(place);
  const more = range === undefined ? walkOn(asked, place.range, continuation) : continuation;
  const next = emptyPage === 'trailing-empty-page' ? (more ?? nothingBehind) : more;
  return withSession(feedAnswer(container, json, charge, next), container, place.range);
}

export function feedAnswer(
  { rid }: Container,
  docs: string[],
  charge: number,
  continuation: string | undefined,
): Answer {
  const headers: Record<string, string> = {
    'x-ms-request-charge': String(charge),
    'x-ms-item-count': String(docs.length),
  };
  if (continuation !== undefined) headers['x-ms-continuation'] = continuation;
  return {
    status: 200,
    headers,
    body: `{"_rid":"${rid}","Documents":[${docs.join(',')}],"_count":${docs.length}}`,
  };
}
