/** The features' only source of time. Tests replace it with a virtual clock. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. For times that are stored or shown, never for measuring a duration. */
  now(): number;
  /** Milliseconds on a clock that never jumps or goes back. For deadlines and durations. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `fire` after `ms` milliseconds, unless the function that it returns is called first. For limits, which are seldom
   * reached and set for every request: it makes no promise and no signal. A clock may do without.
   */
  after?(ms: number, fire: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not `timers/promises`: it creates an error with a stack for each aborted sleep, and every storage request under a
  // lease aborts one (measured: 55 µs per request, against 20 µs).
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', abort, { once: true });
    }),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

const firstTime = '1970-01-01T00:00:00.000Z';

/**
 * An ISO 8601 time with any offset, in UTC with milliseconds: such times compare as text, as long as years have four
 * digits. Undefined for a time before 1970 or after 9999, and for what is no time.
 */
export function utcTime(given: string): string | undefined {
  const time = new Date(given);
  const utc = Number.isNaN(time.getTime()) ? '' : time.toISOString();
  return utc >= firstTime && /^\d/.test(utc) ? utc : undefined;
}
