import { badRequest } from './errors.ts';
import type { JsonObject } from './json.ts';

/** Time to live of a container: off, -1 for only the items that say so, or so many seconds for all that say nothing else. */
export type DefaultTtl = number | undefined;

/** The largest TTL, in seconds. */
const maxTtl = 2_147_483_647;

/**
 * When an item written at `ts` (unix seconds) expires, or null for never. An item's own `ttl` counts only where the
 * container has a default (https://learn.microsoft.com/azure/cosmos-db/nosql/time-to-live).
 */
export function expiryOf(item: JsonObject, ts: number, defaultTtl: DefaultTtl): number | null {
  const own = item.ttl;
  if (own !== undefined && !isTtl(own)) {
    throw badRequest(
      `The input ttl '${JSON.stringify(own)}' is invalid. Ensure to provide a nonzero positive integer less than or equal to '${maxTtl}', or -1.`,
    );
  }
  if (defaultTtl === undefined) return null;
  const seconds = own ?? defaultTtl;
  return seconds === -1 ? null : ts + seconds;
}

export function isTtl(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && (value === -1 || (value > 0 && value <= maxTtl))
  );
}
