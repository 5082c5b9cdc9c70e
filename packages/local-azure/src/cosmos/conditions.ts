import { preconditionFailed } from './errors.ts';

/**
 * Checks a write's `If-Match` against the item's ETag. `*` matches any existing item.
 *
 * @throws {CosmosError} 412
 */
export function requireMatch(ifMatch: string | undefined, etag: string): void {
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw preconditionFailed();
}

/** True if a read with `If-None-Match` gets 304. On writes the service ignores the header, and so do we. */
export function isUnmodified(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === '*' || ifNoneMatch === etag);
}
