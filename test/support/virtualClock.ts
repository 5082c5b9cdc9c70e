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
  /** The earliest first; those that are due at the same time in the order of their calls. */
  const sleeps: Sleep[] = [];

  function add(sleep: Sleep): void {
    let [from, to] = [0, sleeps.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((sleeps[middle]?.due ?? 0) <= sleep.due) from = middle + 1;
      else to = middle;
    }
    sleeps.splice(from, 0, sleep);
  }

  function remove(sleep: Sleep): void {
    const place = sleeps.indexOf(sleep);
    if (place >= 0) sleeps.splice(place, 1);
  }

  return {
    now: () => time,
    monotonic: () => time,
    sleepers: () => sleeps.length,
    stall(ms) {
      time += ms;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        const abort = () => {
          remove(sleep);
          reject(signal?.reason as Error);
        };
        const sleep: Sleep = {
          due: time + ms,
          wake() {
            remove(sleep);
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        add(sleep);
        signal?.addEventListener('abort', abort, { once: true });
      });
    },
    async advance(ms) {
      const end = time + ms;
      await settled();
      for (let [next] = sleeps; next !== undefined && next.due <= end; [next] = sleeps) {
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
