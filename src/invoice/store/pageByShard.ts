import { z } from 'zod';
import { continuationAt, type Page, placeOf } from '../../documents/pages.ts';
import { shardNames } from '../shard.ts';

/** Where a page ended: the shard and the id of its last document. */
const placeSchema = z.strictObject({ shard: z.string(), id: z.string() });

/** Reads documents of a shard that come behind an id, in the order of their ids: `limit` of them, or all there are. */
type ReadShard = (query: { shard: string; behind?: string; limit: number }) => Promise<unknown[]>;

/**
 * A page of the documents of all shards, in the order of shard and id. No change of a document moves it in that order, so
 * none is shown twice or hidden because of what happens between two pages; one that only then begins or ceases to match
 * is shown if it matches when its page is read.
 *
 * Each query is one of a single partition: over several of them the Cosmos SDK merges the sorted answers with an order of
 * its own, which need not be that of the service for every text, and gives no token to go on with.
 *
 * @throws {BadContinuation}
 */
export async function pageByShard(
  { shards, pageSize, continuation }: { shards: number; pageSize: number; continuation?: string },
  readShard: ReadShard,
): Promise<Page<unknown>> {
  const names = shardNames(shards);
  const place =
    continuation === undefined
      ? undefined
      : placeOf(placeSchema.extend({ shard: z.enum(names) }), continuation);
  const left = place === undefined ? names : names.slice(names.indexOf(place.shard));
  const found: unknown[] = [];
  // One shard mostly fills the page. The more shards have little, the more are asked at once.
  for (let atOnce = 1; left.length > 0 && found.length <= pageSize; atOnce *= 2) {
    const limit = pageSize + 1 - found.length;
    const answers = left
      .splice(0, atOnce)
      .map((shard) => readShard({ shard, limit, ...(shard === place?.shard ? { behind: place.id } : {}) }));
    found.push(...(await Promise.all(answers)).flat());
  }
  const items = found.slice(0, pageSize);
  if (found.length <= pageSize) return { items };
  return { items, continuation: continuationAt(placeSchema.strip().parse(items.at(-1))) };
}
