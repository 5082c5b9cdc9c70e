import { type Clock, systemClock } from '../platform/clock.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';

/** One lock, as operators see it. Times are ISO 8601 in UTC. */
export interface LockListing {
  key: string;
  held: boolean;
  /**
   * The last holder that took a fence: the current one while `held`, unless that one took none. Absent if no
   * holder did, since only fenced leases record their owner.
   */
  owner?: LeaseOwner;
  /** When `owner` acquired it. */
  acquiredAt?: string;
  /**
   * The latest time at which the lease can end if its holder has just died. A store knows whether a lease is
   * held, not when it was last renewed: the true end lies between now and then. Absent if the lock is free,
   * or if no holder recorded its lease time.
   */
  expiry?: string;
  /** Fencing token of `owner`; 0 without one. */
  fence: number;
}

/**
 * Lists every lock whose key begins with `prefix`, held or not. `signal` limits the whole listing (default:
 * 30 s). Undefined if the store cannot list. Rejects with the store's error.
 */
export async function listLocks(
  store: LockStore,
  {
    prefix = '',
    signal = AbortSignal.timeout(30_000),
    clock = systemClock,
  }: { prefix?: string; signal?: AbortSignal; clock?: Clock } = {},
): Promise<LockListing[] | undefined> {
  if (store.list === undefined) return undefined;
  const listings: LockListing[] = [];
  for await (const { key, held, record } of store.list(prefix, signal)) {
    if (record === undefined) {
      listings.push({ key, held, fence: 0 });
      continue;
    }
    listings.push({
      key,
      held,
      owner: record.owner,
      acquiredAt: new Date(record.since).toISOString(),
      ...(held ? { expiry: new Date(clock.now() + record.leaseMs).toISOString() } : {}),
      fence: record.fence,
    });
  }
  return listings;
}
