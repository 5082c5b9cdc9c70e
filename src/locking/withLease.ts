import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';
import type { LeaseChoice, Locks } from './locks.ts';

/** `heldElsewhere`: the work did not run. */
export type LeasedResult<T> = { kind: 'done'; value: T } | { kind: 'heldElsewhere' };

/**
 * Runs `work` under a lease and releases it afterwards, even if `work` fails. If the lock is held, `work`
 * does not run: without `waitMs`, the result is `heldElsewhere`; with it, the call waits that many
 * milliseconds and then throws LockTimeout. `signal` ends the wait, not the work.
 *
 * Rejects with what `work` throws, and as `Locks.tryAcquire` or `Locks.acquire` does.
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
