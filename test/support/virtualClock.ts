import type { Clock } from '../../src/platform/clock.ts';

interface Sleep {
  due: number;
  wake: () => void;
}

export interface VirtualClock extends Clock {
  /** Lets `ms` milliseconds pass; each sleeper wakes at its time, and what follows from it happens before time goes on. */
  advance(ms: number): Promise<void>;
  /** Moves time without waking anyone, as when a process stands still. The next `advance` wakes whoever is overdue. */
  stall(ms: number): void;
  /** How many sleep at the moment. */
  sleepers(): number;
}

/** Both clocks start at `start`. */
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

/** Resolves when every promise that can settle without time passing has. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
