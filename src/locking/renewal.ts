import type { Loss } from './errors.ts';
import type { Refusal } from './lockStore.ts';
import { between, type LeaseTiming, trustedUntil } from './timing.ts';

/** What is known of a lease between two renewals. Times on the monotonic clock, in milliseconds. */
export interface Tenure {
  trustedUntil: number;
  /** When to give it up, short of `trustedUntil` by what a timer may be late. */
  giveUpAt: number;
  /** When the next renewal is due. */
  renewAt: number;
  /** Renewals without an answer since the last success. */
  failures: number;
  lastFailure?: string;
}

/** `failed`: no answer was had, whatever the reason; it proves nothing about the lease. */
export type RenewalOutcome = 'renewed' | Refusal | { kind: 'failed'; detail: string };

export type RenewalDecision = ({ kind: 'held' } & Tenure) | ({ kind: 'lost' } & Loss);

type Timed = { timing: LeaseTiming; random: () => number };

/** The tenure after a request that succeeded. */
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
 * What a renewal means that was sent at `sentAt` and ended at `now`: an answer that names a loss is one; no answer is none
 * until the trusted time is over; a success that comes after that is too late, since others were told that it is lost.
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

/** The loss of a tenure that is given up at `now`. */
export function timeOver(tenure: Tenure, now: number, requestUnderWay = false): Loss {
  const late = Math.max(0, Math.round(now - tenure.trustedUntil));
  if (tenure.failures > 0) {
    return {
      reason: 'unreachable',
      detail: `${tenure.failures} renewals without an answer, the last: ${tenure.lastFailure}`,
    };
  }
  if (requestUnderWay) {
    return { reason: 'unreachable', detail: 'a renewal was still unanswered when the time was over' };
  }
  return { reason: 'expired', detail: `no renewal was sent in time; noticed ${late} ms after the deadline` };
}
