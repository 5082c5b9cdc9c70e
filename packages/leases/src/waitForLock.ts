import { exponentialBackoff } from './backoff.ts';
import { bounded, limit } from './clock.ts';
import {
  type Lease,
  type LeaseSetting,
  LockStoreFailed,
  type Locks,
  LocksClosed,
  LockTimeout,
  type Wanted,
} from './lease.ts';
import type { LineWait } from './lockStore.ts';
import { partMetric } from './telemetry.ts';
import { type Backoff, between } from './timing.ts';

/** Longest pause between two looks of a waiter, in multiples of which its place in line is kept. */
const placeKeptFor = 3;

/** Acquires a lock, however often it takes until `waitMs` is over; see `Locks.acquire`. */
export async function waitForLock(
  wanted: Wanted,
  { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
  {
    attempt,
    setting: { store, clock, telemetry, timing, random },
    backoff,
    stopping,
    onError,
  }: {
    attempt: (wanted: Wanted) => Promise<Lease | null>;
    setting: LeaseSetting;
    backoff: Backoff;
    stopping: AbortSignal;
    onError: Locks['onError'];
  },
): Promise<Lease> {
  const { key, owner } = wanted;
  if (!(typeof waitMs === 'number' && waitMs >= 0)) {
    throw new RangeError(`waitMs is 0 or more milliseconds, not ${String(waitMs)}`);
  }
  const startedAt = clock.monotonic();
  const giveUp = signal === undefined ? stopping : AbortSignal.any([signal, stopping]);
  await using line = waitingLine();
  let failure: LockStoreFailed | undefined;
  for (let tries = 0; ; tries++) {
    if (stopping.aborted) throw new LocksClosed(key);
    signal?.throwIfAborted();
    try {
      const lease = await attempt({ ...wanted, place: line.place() });
      if (lease !== null && signal?.aborted) await lease.release();
      else if (lease !== null) {
        telemetry.record(partMetric.leaseWaitedMs, clock.monotonic() - startedAt, { job: owner.job });
        return lease;
      }
      // The store answers again: an earlier failure is not why the lock is out of reach.
      failure = undefined;
    } catch (error) {
      if (!(error instanceof LockStoreFailed) || error.permanent) throw error;
      failure = error;
      onError?.(error, key);
    }
    const left = startedAt + waitMs - clock.monotonic();
    if (left <= 0) throw new LockTimeout(key, waitMs, failure);
    await line.pause(Math.min(left, waitBefore(tries, backoff, random)));
  }

  /** The place of this waiter: none before the first pause, nor where the store can wake nobody. */
  function waitingLine() {
    let wait: LineWait | undefined;

    return {
      place: () => wait && { ticket: wait.ticket, keptMs: placeKeptFor * backoff.mostMs },

      async pause(ms: number): Promise<void> {
        if (wait === undefined && store.wait !== undefined) {
          const { wait: prepare } = store;
          wait = await bounded(clock, timing.attemptMs, (each) => prepare(key, each)).catch(() => undefined);
          // It may have become free before anybody knew of this waiter.
          if (wait !== undefined) return;
        }
        if (wait === undefined) return clock.sleep(ms, giveUp).catch(() => {});
        const over = new AbortController();
        const end = () => over.abort('over');
        giveUp.addEventListener('abort', end, { once: true });
        if (giveUp.aborted) end();
        const cancel = limit(clock, ms, end);
        await wait.called(over.signal);
        cancel();
        giveUp.removeEventListener('abort', end);
        // Whatever was asked for the call is given up. Any reason will do: an error would cost as much as all of this.
        end();
      },

      async [Symbol.asyncDispose]() {
        await wait?.[Symbol.asyncDispose]();
      },
    };
  }
}

/**
 * Milliseconds before the next look, after `tries` earlier pauses: the upper half of a span that doubles up to a low ceiling,
 * so that an old waiter looks nearly as often as a new one and nobody starves. `random` returns values in [0, 1).
 */
function waitBefore(tries: number, { firstMs, mostMs }: Backoff, random: () => number): number {
  const span = exponentialBackoff(tries + 1, { base: firstMs, cap: mostMs });
  return between(span / 2, span, random);
}
