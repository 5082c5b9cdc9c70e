import type { Clock } from '../../packages/leases/src/clock.ts';

interface Sleep {
  due: number;
  wake: () => void;
}

export interface VirtualClock extends Clock {
  /**
   * Lets `ms` milliseconds pass. Each sleeper wakes when due, and all that follows happens before time moves
   * on.
   */
  advance(ms: number): Promise<void>;
  /**
   * Moves time without waking anyone, like a process that is paused. The next `advance` wakes every overdue
   * sleeper.
   */
  stall(ms: number): void;
  /** Number of sleepers now. */
  sleepers(): number;
}

/** Both the wall clock and the monotonic clock start at `start`, in milliseconds. */
export function virtualClock(start = 1_000_000): VirtualClock {
  let time = start;
  const sleeps = new Set<Sleep>();

  function earliest(): Sleep | undefined {
    let first: Sleep | undefined;
    for (const sleep of sleeps) if (first === undefined || sleep.due < first.due) first = sleep;
    return first;
  }

  return {
    now: () => time,
    monotonic: () => time,
    sleepers: () => sleeps.size,
    stall(ms) {
      time += ms;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const abort = () => {
          sleeps.delete(sleep);
          reject(signal?.reason as Error);
        };
        const sleep: Sleep = {
          due: time + ms,
          wake() {
            sleeps.delete(sleep);
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        sleeps.add(sleep);
        signal?.addEventListener('abort', abort, { once: true });
      });
    },
    async advance(ms) {
      const end = time + ms;
      await settled();
      for (let next = earliest(); next !== undefined && next.due <= end; next = earliest()) {
        time = Math.max(time, next.due);
        next.wake();
        await settled();
      }
      time = end;
    },
  };
}

/** Resolves once every promise that can settle without time passing has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
