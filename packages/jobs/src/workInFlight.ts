import { bounded, type Clock } from '@payonce/leases/clock';

/** Work that a stopping process waits for before it closes its connections. */
export interface WorkInFlight {
  /** Passes the work on, and remembers it until it ends. */
  track: <T>(work: Promise<T>) => Promise<T>;
  /** Resolves when all of it has ended, or after `withinMs` milliseconds. */
  ended: (withinMs: number) => Promise<void>;
}

/** Remembers work until it ends. */
export function workInFlight(clock: Clock): WorkInFlight {
  const inFlight = new Set<Promise<unknown>>();
  return {
    track(work) {
      inFlight.add(work);
      void Promise.allSettled([work]).then(() => inFlight.delete(work));
      return work;
    },
    ended: (withinMs) => waitAtMost(clock, withinMs, Promise.allSettled(inFlight)),
  };
}

/** Resolves when `work` has ended in whatever way, and after `ms` milliseconds in any case. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  await bounded(clock, ms, () => work).catch(() => {});
}
