import { bounded, type Clock } from '@payonce/leases/clock';

/** Work that a stopping process waits for before it closes its connections. */
export interface WorkUnderWay {
  /** Passes the work on, and remembers it until it ends. */
  track: <T>(work: Promise<T>) => Promise<T>;
  /** Resolves when all of it has ended, or after `withinMs` milliseconds. */
  ended: (withinMs: number) => Promise<void>;
}

export function workUnderWay(clock: Clock): WorkUnderWay {
  const underWay = new Set<Promise<unknown>>();
  return {
    track(work) {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },
    ended: (withinMs) => waitAtMost(clock, withinMs, Promise.allSettled(underWay)),
  };
}

/** Resolves when `work` has ended in whatever way, and after `ms` milliseconds in any case. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  await bounded(clock, ms, () => work).catch(() => {});
}
