import type { Loss } from './errors.ts';
import type { Refusal } from './lockStore.ts';
import { between, type LeaseTiming, trustedUntil } from './timing.ts';

/** What is known about a lease between two renewals. Times are milliseconds on the monotonic clock. */
export interface Tenure {
  /** When the holder stops trusting the lease. */
  trustedUntil: number;
  /** When to give the lease up: `trustedUntil` less the slack for a late timer. */
  giveUpAt: number;
  /** When the next renewal is due. */
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
 * What a renewal means that was sent at `sentAt` and ended at `now`:
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

/** Why a tenure that is given up at `now` is lost. */
export function timeOver(tenure: Tenure, now: number, requestUnderWay = false): Loss {
  const late = Math.max(0, Math.round(now - tenure.trustedUntil));
  if (tenure.failures > 0) {
    return {
      reason: 'unreachable',
      detail: `renewals without an answer: ${tenure.failures}; last error: ${tenure.lastFailure}`,
    };
  }
  if (requestUnderWay) {
    return { reason: 'unreachable', detail: 'a renewal was still unanswered when the trusted time ran out' };
  }
  return { reason: 'expired', detail: `no renewal was sent in time; noticed ${late} ms after the deadline` };
}
