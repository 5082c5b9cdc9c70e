import type { Clock } from '../platform/clock.ts';
import type { LeaseOwner, LockStore } from './lockStore.ts';

/** One lock as operators see it. Times are ISO 8601 in UTC. */
export interface LockListing {
  key: string;
  held: boolean;
  /** Who holds it, or held it last; absent where no holder took a fence, since only those leave their name. */
  owner?: LeaseOwner;
  acquiredAt?: string;
  /**
   * When the lease ends at the latest if its holder has just died. A store tells whether a lease is held, not when it was
   * last renewed: the true end lies between now and then. Absent when not held, or where no holder left its lease time.
   */
  expiry?: string;
  fence: number;
}

/** Every lock whose key begins with `prefix`, held or not. */
export async function listLocks(
  store: LockStore,
  clock: Clock,
  { prefix = '', signal = AbortSignal.timeout(30_000) }: { prefix?: string; signal?: AbortSignal } = {},
): Promise<LockListing[]> {
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
