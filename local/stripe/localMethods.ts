import type { Incident } from './incident.ts';
import type { FailingCalls, LateFailure, TestMethod } from './testMethod.ts';

/** Failures that Stripe's test mode lacks, by the name between `pm_local_` and `Once` or `Twice`. */
const incidents: Record<string, Incident> = {
  timeoutBeforeCharge: 'timeout-before',
  timeoutAfterCharge: 'timeout-after',
  resetBeforeCharge: 'reset-before',
  resetAfterCharge: 'reset-after',
  serverError: '500',
  serverErrorAfterCharge: '500-after',
  rateLimit: '429',
};
const suffixes: Record<string, FailingCalls> = { '': 'all', Once: 'first', Twice: 'firstTwo' };

/** Time that a card stays `processing` here by default (ms). */
const cardProcessingMs = 10 * 60_000;
const declinedLate: LateFailure = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  chargeCode: 'card_declined',
  message: 'Your card was declined.',
};
const processing = (outcome: { afterMs?: number; failure?: LateFailure }): TestMethod => ({
  type: 'card',
  charged: { kind: 'processing', ...outcome },
});

/** Methods that only this server knows. */
export const localMethods: Readonly<Record<string, TestMethod>> = {
  ...Object.fromEntries(
    Object.entries(incidents).flatMap(([name, fault]) =>
      Object.entries(suffixes).map(
        ([suffix, calls]) =>
          [`pm_local_${name}${suffix}`, { type: 'card', charged: { kind: 'fails', fault, calls } }] as const,
      ),
    ),
  ),
  pm_card_local_processing: processing({}),
  pm_card_local_processingSucceeds: processing({ afterMs: cardProcessingMs }),
  pm_card_local_processingFails: processing({ afterMs: cardProcessingMs, failure: declinedLate }),
};
