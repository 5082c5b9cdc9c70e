import { badRequest } from './errors.ts';
import type { JsonObject } from './json.ts';

/**
 * A container's default time to live: undefined is off, -1 expires only items with their own `ttl`, any other
 * number is the seconds for all items without one.
 */
export type DefaultTtl = number | undefined;

/** The largest TTL, in seconds. */
const maxTtl = 2_147_483_647;

/**
 * When an item written at `ts` expires, in Unix seconds, or null for never. An item's own `ttl` applies only
 * if the container has a default (https://learn.microsoft.com/azure/cosmos-db/nosql/time-to-live).
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
