/** The times of a lease, in milliseconds. */
export interface LeaseTiming {
  /** How long the store keeps a lease without a renewal. */
  leaseMs: number;
  /**
   * How much sooner than the store the holder stops trusting it, for clock drift and side effects in flight.
   */
  marginMs: number;
  /**
   * How long before the end of its trust a holder is told, if no renewal succeeded. A timer may be late,
   * never early.
   */
  timerSlackMs: number;
  /** From one renewal to the next, ± `renewJitter`. */
  renewEveryMs: number;
  /** A fraction of `renewEveryMs`, 0 to 1. Keeps many holders from renewing in step. */
  renewJitter: number;
  /** Time limit of one request. */
  attemptMs: number;
  /** The pause after a renewal without an answer is random, from `retryMinMs` to `retryMaxMs`. */
  retryMinMs: number;
  retryMaxMs: number;
}

/**
 * The timing of a lease of `seconds`. It is renewed at a third of its time, so that two renewals may fail.
 * One request takes at most a sixth of it, and never more than 5 s.
 *
 * @throws RangeError unless `seconds` is a whole number from 15 to 60, the limits of the blob service
 * (https://learn.microsoft.com/rest/api/storageservices/lease-blob).
 */
export function leaseTiming(seconds: number): LeaseTiming {
  if (!Number.isInteger(seconds) || seconds < 15 || seconds > 60) {
    throw new RangeError(`A lease lasts 15 to 60 whole seconds, not ${seconds}`);
  }
  const leaseMs = seconds * 1000;
  return {
    leaseMs,
    marginMs: 3000,
    timerSlackMs: 250,
    renewEveryMs: leaseMs / 3,
    renewJitter: 0.2,
    attemptMs: Math.min(5000, leaseMs / 6),
    retryMinMs: 1000,
    retryMaxMs: 2000,
  };
}

/**
 * When a holder stops trusting a lease whose last successful request was sent at `sentAt`. The store counts
 * from the arrival of that request, which is later, so the holder's time always ends first. Counted from the
 * answer, it could end last.
 */
export function trustedUntil(sentAt: number, timing: LeaseTiming): number {
  return sentAt + timing.leaseMs - timing.marginMs;
}

/** A value from `min` to `max`. `random` returns values in [0, 1). */
export function between(min: number, max: number, random: () => number): number {
  return min + (max - min) * random();
}
