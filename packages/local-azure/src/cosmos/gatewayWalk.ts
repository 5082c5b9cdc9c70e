import { z } from 'zod';
import { badRequest } from './errors.ts';
import { parseJsonOrUndefined } from './json.ts';
import type { Range } from './ranges.ts';

/*
 * A request that names neither a partition key nor a range is answered range after range, as the service's gateway does, in those
 * that its filter leaves: a page
 * comes from one range only, so it may be shorter than asked for, or empty, although more follow. The continuation has the
 * service's form (https://github.com/Azure/azure-cosmos-dotnet-v2/issues/692, with an empty first page, and issue 886).
 */

const walkToken = z.strictObject({
  token: z.string().nullable(),
  range: z.strictObject({ min: z.string(), max: z.string() }),
});

/** Where a walk is: in a range, behind the page with this continuation. */
export interface WalkPlace {
  range: Range;
  continuation: string | undefined;
}

/** @throws {CosmosError} 400 for a continuation of another container, or of another number of ranges */
export function placeOfWalk(ranges: readonly Range[], continuation: string | undefined): WalkPlace {
  const [first] = ranges;
  if (first === undefined) throw new Error('a walk needs a partition key range');
  if (continuation === undefined || continuation === '') return { range: first, continuation: undefined };
  const { data } = walkToken.safeParse(parseJsonOrUndefined(continuation));
  const range = ranges.find(({ min, max }) => min === data?.range.min && max === data.range.max);
  if (data === undefined || range === undefined) throw badRequest('Invalid Continuation Token');
  return { range, continuation: data.token ?? undefined };
}

/** The continuation of a page: further in its range, or at the next one. Undefined behind the last. */
export function walkOn(
  ranges: readonly Range[],
  place: Range,
  continuation: string | undefined,
): string | undefined {
  const range = continuation === undefined ? ranges[ranges.indexOf(place) + 1] : place;
  if (range === undefined) return undefined;
  return JSON.stringify({ token: continuation ?? null, range: { min: range.min, max: range.max } });
}
