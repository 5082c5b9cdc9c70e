import type { Clock } from './clock.ts';

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
    async ended(withinMs) {
      const done = new AbortController();
      const late = clock.sleep(withinMs, done.signal).catch(() => {});
      await Promise.race([Promise.allSettled(underWay), late]);
      done.abort();
    },
  };
}
