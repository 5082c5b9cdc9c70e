import type { Clock } from '../clock.ts';

export interface LeapingClock extends Clock {
  /** The length of each sleep so far, in milliseconds. */
  readonly slept: readonly number[];
}

/** A clock on which nobody waits: a sleep ends at once, and its time has passed. `start` in milliseconds. */
export function leapingClock(start = Date.UTC(2026, 5, 1, 12)): LeapingClock {
  let time = start;
  const slept: number[] = [];
  return {
    slept,
    now: () => time,
    monotonic: () => time,
    async sleep(ms) {
      slept.push(ms);
      time += ms;
    },
  };
}
