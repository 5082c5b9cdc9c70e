import { setTimeout as delay } from 'node:timers/promises';

const shortest = 100;

/** Backoff between polls of a queue: 100 ms, doubled after each empty poll, at most `longest` ms. */
export interface Polling {
  /** Resolves after the pause, or at once on `wake` or when stopped. */
  wait(): Promise<void>;
  foundSomething(): void;
  wake: () => void;
}

export function polling(longest: number, stopped: AbortSignal): Polling {
  let pause = Math.min(shortest, longest);
  let isAwake = false;
  let sleeping: AbortController | undefined;
  return {
    async wait() {
      if (!isAwake && !stopped.aborted) {
        sleeping = new AbortController();
        const signal = AbortSignal.any([sleeping.signal, stopped]);
        await delay(pause, undefined, { signal }).catch(() => undefined);
        sleeping = undefined;
      }
      isAwake = false;
      pause = Math.min(pause * 2, longest);
    },
    foundSomething() {
      pause = Math.min(shortest, longest);
    },
    wake() {
      isAwake = true;
      pause = Math.min(shortest, longest);
      sleeping?.abort();
    },
  };
}
