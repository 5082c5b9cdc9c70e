import type { StoreTraits } from './lockStore.ts';

/** The times of a lease, in milliseconds. */
export interface LeaseTiming {
  /** Time for which the store grants a lease without a renewal. */
  leaseMs: number;
  /** Time by which the holder stops trusting it sooner than the store, for clock drift and side effects in flight. */
  marginMs: number;
  /** Time before the end of its trust at which a holder is told, if no renewal succeeded. A timer may be late. */
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
 * A lease of `seconds` is renewed at a third of its time, so that two renewals may fail. A request takes at most a sixth, and 5
 * s; the margin is a fifth, and 3 s at most. @throws RangeError unless `seconds` is more than 0.
 */
export function leaseTiming(seconds: number): LeaseTiming {
  if (!(seconds > 0)) throw new RangeError(`A lease lasts more than 0 s, not ${seconds} s`);
  const leaseMs = seconds * 1000;
  const atMost = (ms: number, share: number) => Math.min(ms, leaseMs / share);
  return {
    leaseMs,
    marginMs: atMost(3000, 5),
    timerSlackMs: atMost(250, 60),
    renewEveryMs: leaseMs / 3,
    renewJitter: 0.2,
    attemptMs: atMost(5000, 6),
    retryMinMs: atMost(1000, 15),
    retryMaxMs: atMost(2000, 7.5),
  };
}

/** @throws RangeError unless the store grants leases of this length. */
export function checkLease({ leaseMs }: LeaseTiming, { lease }: StoreTraits): void {
  const { minMs, maxMs, stepMs } = lease;
  if (leaseMs >= minMs && leaseMs <= maxMs && leaseMs % stepMs === 0) return;
  const step = stepMs === 1000 ? 'whole seconds' : `steps of ${stepMs} ms`;
  throw new RangeError(
    `A lease of this store lasts ${minMs / 1000} to ${maxMs / 1000} s in ${step}, not ${leaseMs / 1000} s`,
  );
}

/** The lease that this store grants and that comes closest to `ms` milliseconds. */
export function nearestLease(ms: number, { lease }: StoreTraits): LeaseTiming {
  const { minMs, maxMs, stepMs } = lease;
  const steps = Math.ceil(ms / stepMs) * stepMs;
  return leaseTiming(Math.min(maxMs, Math.max(minMs, steps)) / 1000);
}

/** A value from `min` to `max`. `random` returns values in [0, 1). */
export function between(min: number, max: number, random: () => number): number {
  return min + (max - min) * random();
}

/** The pauses between two looks of a waiter, in milliseconds. */
export interface Backoff {
  /** Upper bound of the first pause. Doubles with each further one. */
  firstMs: number;
  /** Upper bound of every pause. */
  mostMs: number;
}
