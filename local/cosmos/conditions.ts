import { preconditionFailed } from './errors.ts';

/**
 * Checks `If-Match` of a write against the item's ETag; `*` asks only that there is an item.
 *
 * @throws {CosmosError} 412
 */
export function requireMatch(ifMatch: string | undefined, etag: string): void {
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw preconditionFailed();
}

/** Whether a read with `If-None-Match` answers 304 Not Modified. On writes the service ignores that header, so do we. */
export function isUnmodified(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === etag);
}
