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
  // By hand: `timers/promises` makes an error with a stack for each aborted sleep, and every storage request under a lease
  // aborts one (measured: 55 µs a request against 20).
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
};
