/**
 * A leader: of all processes that call `lead` with a key, at most one runs its work at a time.
 *
 *          lock acquired                 work returns or throws
 *   FOLLOWER ──────────► LEADER ───────────────────────────────► DONE
 *      ▲                   │
 *      └───────────────────┘
 *       lease lost, and the work has ended
 */
import { LeaseLost, LockTimeout } from './errors.ts';
import type { Lease } from './lease.ts';
import type { LeaseOwner } from './lockStore.ts';
import type { Locks } from './locks.ts';

/** How long a follower waits in one call; then it begins a new one, so that no span is unbounded. */
const followMs = 60_000;

/**
 * Runs `work` while this process leads: it should go on until its lease's signal aborts, and then return. A work that has
 * lost its lease runs again when this process is elected again; one that ends with its lease held is done, and so is `lead`.
 *
 * Resolves with undefined when `signal` aborts while this process follows. Rejects with what `work` throws, other than the
 * loss of its lease.
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
      if (!(error instanceof LeaseLost) || lease.lost === undefined) throw error;
    }
  }
}

/** The lease once this process is elected; undefined when `signal` aborts first. */
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
