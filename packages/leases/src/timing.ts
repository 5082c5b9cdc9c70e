import { exponentialBackoff } from './backoff.ts';
import type { Loss } from './lease.ts';
import type { Refusal, StoreTraits } from './lockStore.ts';

/** The times of a lease, in milliseconds. */
export interface LeaseTiming {
  /** Time for which the store grants a lease without a renewal. */
  leaseMs: number;
  /**
   * Time by which the holder stops trusting it sooner than the store, for clock drift and side effects in flight.
   */
  marginMs: number;
  /**
   * Time before the end of its trust at which a holder is told, if no renewal succeeded. A timer may be late,
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
 * The timing of a lease of `seconds`. It is renewed at a third of its time, so that two renewals may fail. One request
 * takes at most a sixth of it, and never more than 5 s. The margin is a fifth of a short lease, and 3 s from 15 s on.
 *
 * @throws RangeError unless `seconds` is more than 0.
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

/** A lease between two renewals. Times are milliseconds on the monotonic clock. */
export interface Tenure {
  /** End of the holder's trust. */
  trustedUntil: number;
  /** Time to give the lease up: `trustedUntil` less the slack for a late timer. */
  giveUpAt: number;
  /** Time of the next renewal. */
  renewAt: number;
  /** Renewals without an answer since the last success. */
  failures: number;
  /** The error of the last of them. */
  lastFailure?: string;
}

/** `failed`: no answer, for whatever reason. It proves nothing about the lease. */
export type RenewalOutcome = 'renewed' | Refusal | { kind: 'failed'; detail: string };

export type RenewalDecision = ({ kind: 'held' } & Tenure) | ({ kind: 'lost' } & Loss);

type Timed = { timing: LeaseTiming; random: () => number };

/** The tenure that begins with a successful request, sent at `sentAt`. */
export function startTenure(sentAt: number, { timing, random }: Timed): Tenure {
  const jitter = timing.renewEveryMs * timing.renewJitter;
  const trusted = trustedUntil(sentAt, timing);
  return {
    trustedUntil: trusted,
    giveUpAt: trusted - timing.timerSlackMs,
    renewAt: sentAt + between(timing.renewEveryMs - jitter, timing.renewEveryMs + jitter, random),
    failures: 0,
  };
}

/**
 * The meaning of a renewal that was sent at `sentAt` and ended at `now`:
 * - a success starts a new tenure, counted from `sentAt`;
 * - a success after the trusted time is a loss: others have been told that the lease is lost;
 * - a refusal is a loss;
 * - no answer is a loss only from `giveUpAt` on.
 */
export function afterRenewal(
  tenure: Tenure,
  outcome: RenewalOutcome,
  at: { sentAt: number; now: number },
  timed: Timed,
): RenewalDecision {
  if (outcome === 'renewed') {
    const late = Math.round(at.now - tenure.trustedUntil);
    if (late >= 0) {
      return {
        kind: 'lost',
        reason: 'expired',
        detail: `its renewal was answered ${late} ms after the deadline`,
      };
    }
    return { kind: 'held', ...startTenure(at.sentAt, timed) };
  }
  if (outcome.kind === 'refused') {
    return { kind: 'lost', reason: outcome.reason, detail: outcome.detail };
  }
  const failed = { ...tenure, failures: tenure.failures + 1, lastFailure: outcome.detail };
  if (at.now >= tenure.giveUpAt) return { kind: 'lost', ...timeOver(failed, at.now) };
  const { retryMinMs, retryMaxMs } = timed.timing;
  return { kind: 'held', ...failed, renewAt: at.now + between(retryMinMs, retryMaxMs, timed.random) };
}

/** The loss of a tenure that ends at `now`. */
export function timeOver(tenure: Tenure, now: number, requestInFlight = false): Loss {
  const late = Math.max(0, Math.round(now - tenure.trustedUntil));
  if (tenure.failures > 0) {
    return {
      reason: 'unreachable',
      detail: `renewals without an answer: ${tenure.failures}; last error: ${tenure.lastFailure}`,
    };
  }
  if (requestInFlight) {
    return { reason: 'unreachable', detail: 'a renewal was still unanswered when the trusted time ran out' };
  }
  return { reason: 'expired', detail: `no renewal was sent in time; noticed ${late} ms after the deadline` };
}

/** The pauses between two looks of a waiter, in milliseconds. */
export interface Backoff {
  /** Upper bound of the first pause. Doubles with each further one. */
  firstMs: number;
  /** Upper bound of every pause. */
  mostMs: number;
}

/**
 * Milliseconds to pause before the next look, after `tries` earlier pauses. The span doubles up to a ceiling,
 * and each pause is drawn from its upper half. The ceiling is low on purpose: an old waiter looks nearly as
 * often as a new one, so nobody starves. `random` returns values in [0, 1).
 */
export function waitBefore(tries: number, { firstMs, mostMs }: Backoff, random: () => number): number {
  const span = exponentialBackoff(tries + 1, { base: firstMs, cap: mostMs });
  return between(span / 2, span, random);
}
