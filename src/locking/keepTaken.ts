import { bounded } from '../platform/bounded.ts';
import type { Acquired, LeaseSetting } from './lease.ts';
import { nearestLease } from './timing.ts';

/**
 * Keeps a lock taken after its holder is done, until `until` (milliseconds on the monotonic clock), then gives it back. The
 * lease is set to the time that is left, so it ends by itself if this process dies; a store that grants no shorter lease
 * keeps it a little longer then. Stops when `stopping` aborts. Never rejects.
 */
export async function keepTaken(
  { key, leaseId }: Acquired,
  until: number,
  { store, clock, timing }: LeaseSetting,
  stopping: AbortSignal,
): Promise<void> {
  try {
    for (let left = until - clock.monotonic(); left > 0; left = until - clock.monotonic()) {
      const { leaseMs, renewEveryMs } = nearestLease(left, store.traits);
      // Repeated by its holder, an acquire restarts the lease with a new length.
      const answer = await bounded(clock, timing.attemptMs, (signal) =>
        store.acquire(key, leaseId, leaseMs, signal),
      ).catch(() => 'unknown' as const);
      if (answer === 'held' || answer === 'absent') return;
      const covered = answer === 'acquired' && left <= leaseMs;
      await clock.sleep(
        covered ? Math.max(0, until - clock.monotonic()) : Math.min(left, renewEveryMs),
        stopping,
      );
    }
    await bounded(clock, timing.attemptMs, (signal) => store.release(key, leaseId, signal));
  } catch {
    // The process stops, or the lock cannot be given back: the lease runs out by itself.
  }
}
