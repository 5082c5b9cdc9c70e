/**
 * Leader election: of all processes that call `lead` with the same key, at most one runs its work at a time.
 *
 *          lock acquired                 work returns or throws
 *   FOLLOWER ──────────► LEADER ───────────────────────────────► DONE
 *      ▲                   │
 *      └───────────────────┘
 *       lease lost, and the work has ended
 */
import { LockTimeout } from './errors.ts';
import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';
import type { Locks } from './locks.ts';

/**
 * Milliseconds that a follower waits in one `acquire`. Then it starts another, so that every wait is bounded.
 */
const followMs = 60_000;

/**
 * Runs `work` while this process is the leader. `work` should run until `lease.signal` aborts and then
 * return. If it lost its lease, it runs again once this process is re-elected. If it ends with its lease
 * held, `lead` is done.
 *
 * Resolves with the result of `work`, or with undefined if `signal` aborts while this process follows.
 * `signal` does not stop a leader: `work` must watch it as well. Rejects with what `work` throws while it holds its lease;
 * what it throws after the loss is told to `onError` of the locks, unless it is a `LeaseLost` or an `AbortError`.
 *
 * @throws LocksClosed if this process shuts down while it follows.
 */
export async function lead<T>(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  work: (lease: Lease) => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  for (;;) {
    const elected = await follow(locks, key, owner, signal);
    if (elected === undefined) return undefined;
    await using lease = elected;
    try {
      const value = await work(lease);
      if (lease.lost === undefined) return value;
    } catch (error) {
      if (lease.lost === undefined) throw error;
      // Timers, events and SDKs reject with an AbortError of their own when `lease.signal` aborts.
      const isLoss = error instanceof Error && ['LeaseLost', 'AbortError'].includes(error.name);
      if (!isLoss) locks.onError?.(error, key);
    }
  }
}

/** The lease, once this process is elected; undefined if `signal` aborts first. */
async function follow(
  locks: Locks,
  key: string,
  owner: LeaseOwner,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  while (!signal.aborted) {
    try {
      return await locks.acquire(key, owner, { waitMs: followMs, signal });
    } catch (error) {
      if (!(error instanceof LockTimeout) && !signal.aborted) throw error;
    }
  }
  return undefined;
}
