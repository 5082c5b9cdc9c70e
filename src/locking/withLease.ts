import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';
import type { LeaseChoice, Locks } from './locks.ts';

export type LeasedResult<T> = { kind: 'done'; value: T } | { kind: 'heldElsewhere' };

/**
 * Runs `work` under a lease and releases it whatever comes of it. Without `waitMs` a held lock means that `work` does not
 * run; with it, waits that long and then throws LockTimeout.
 */
export async function withLease<T>(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  work: (lease: Lease) => Promise<T>,
  options: LeaseChoice & { waitMs?: number; signal?: AbortSignal } = {},
): Promise<LeasedResult<T>> {
  const { waitMs, ...rest } = options;
  await using lease =
    waitMs === undefined
      ? await locks.tryAcquire(key, owner, rest)
      : await locks.acquire(key, owner, { ...rest, waitMs });
  return lease === null ? { kind: 'heldElsewhere' } : { kind: 'done', value: await work(lease) };
}
