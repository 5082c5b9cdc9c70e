/** All spans in milliseconds. */
export interface LeaseTiming {
  /** For how long the store keeps a lease that nobody renews. */
  leaseMs: number;
  /** How much earlier than the store the holder stops trusting it: clock drift and what is under way fit in here. */
  marginMs: number;
  /** How much before the end of its trust a holder is told, if no renewal came through: a timer may be late, never early. */
  timerSlackMs: number;
  /** From one renewal to the next, give or take `renewJitter` of it. */
  renewEveryMs: number;
  /** A share, 0 to 1: keeps many holders from renewing in step. */
  renewJitter: number;
  /** One request at most. */
  attemptMs: number;
  /** After a renewal that brought no answer: between these two. */
  retryMinMs: number;
  retryMaxMs: number;
}

/**
 * The timing that goes with a lease of `seconds`: renewed at a third of it, so that two renewals may fail; one request takes
 * a sixth of it at most, and never more than 5 s.
 *
 * @throws RangeError outside 15–60 whole seconds, the service's limits
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
 * Until when a holder may trust a lease whose last successful request was sent at `sentAt`. The store counts from when the
 * request arrived, which is later: the holder's time always ends first. Counted from the answer it could end last.
 */
export function trustedUntil(sentAt: number, timing: LeaseTiming): number {
  return sentAt + timing.leaseMs - timing.marginMs;
}

/** A value between `min` and `max`, with `random` in [0, 1). */
export function between(min: number, max: number, random: () => number): number {
  return min + (max - min) * random();
}
