import { days } from './days.ts';

/** The longest sleep, in milliseconds. A timer of Node cannot take more than 24.8 days. */
const longestMs = days(1);

export interface AlarmParts {
  now: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** When to ring next, in epoch milliseconds. Undefined: never. */
  nextAt: () => number | undefined;
  ring: () => void;
}

/** Rings when its time has come. It sleeps only while there is such a time. */
export function createAlarm({ now, sleep, nextAt, ring }: AlarmParts) {
  let setFor: number | undefined;
  let sleeping = new AbortController();
  let stopped = false;

  /** To be called whenever `nextAt` or `now` may have changed. */
  function set(): void {
    const at = nextAt();
    if (stopped || at === setFor) return;
    sleeping.abort();
    setFor = at;
    if (at === undefined) return;
    sleeping = new AbortController();
    const { signal } = sleeping;
    sleep(Math.min(Math.max(at - now(), 0), longestMs), signal).then(
      () => {
        if (signal.aborted) return;
        setFor = undefined;
        ring();
        set();
      },
      // The sleep was cut short: another time counts now.
      () => {},
    );
  }

  return {
    set,
    /** After the clock has been moved: sleeps anew. */
    reset(): void {
      setFor = undefined;
      sleeping.abort();
      set();
    },
    stop(): void {
      stopped = true;
      sleeping.abort();
    },
  };
}
