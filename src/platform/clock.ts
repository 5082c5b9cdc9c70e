import { setTimeout as delay } from 'node:timers/promises';

/** Time as the features see it; tests put a virtual one in its place. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch: for what is stored or shown, never to measure a span. */
  now(): number;
  /** Milliseconds on a clock that never jumps or goes back: for deadlines and spans. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason when that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
