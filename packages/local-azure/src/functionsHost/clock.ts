import { setTimeout as delay } from 'node:timers/promises';

/** The host's source of time. Replaceable, so that tests of timers and leases need not wait. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps or goes back, for durations. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds. Rejects if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
};
