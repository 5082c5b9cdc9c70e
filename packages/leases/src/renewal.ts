import type { LeaseSetting, Loss } from './lease.ts';
import type { Refusal } from './lockStore.ts';
import { startTenure, type Tenure } from './tenure.ts';
import { between } from './timing.ts';

/** `failed`: no answer, for whatever reason. It proves nothing about the lease. */
export type RenewalOutcome = 'renewed' | Refusal | { kind: 'failed'; detail: string };

export type RenewalDecision = ({ kind: 'held' } & Tenure) | ({ kind: 'lost' } & Loss);

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
  timed: Pick<LeaseSetting, 'timing' | 'random'>,
): RenewalDecision {
  if (outcome === 'renewed') {
    const late = Math.round(at.now - tenure.trustedUntil);
    if (late >= 0) {
      const detail = `its renewal was answered ${late} ms after the deadline`;
      return { kind: 'lost', reason: 'expired', detail };
    }
    return { kind: 'held', ...startTenure(at.sentAt, timed) };
  }
  if (outcome.kind === 'refused') return { ...outcome, kind: 'lost' };
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
