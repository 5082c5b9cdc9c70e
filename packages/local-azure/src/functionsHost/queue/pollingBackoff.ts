/** First pause after an empty poll, in milliseconds (the real host's default). */
const least = 100;

/**
 * Backoff between polls of an empty queue: 100 ms at first, doubling up to `most`, with jitter so that
 * several hosts do not poll in lockstep. Milliseconds.
 */
export interface PollingBackoff {
  next(): number;
  /** Call when a message was found: the next pause is short again. */
  reset(): void;
}

export function pollingBackoff(most: number, random: () => number = Math.random): PollingBackoff {
  let empty = 0;
  return {
    next() {
      const jitter = 0.8 + 0.4 * random();
      const grown = least * 2 ** Math.min(empty++, 30) * jitter;
      return Math.max(Math.min(least, most), Math.min(grown, most));
    },
    reset() {
      empty = 0;
    },
  };
}
