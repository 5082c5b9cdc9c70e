import type { InvoiceEnd } from '../invoice/followUps.ts';
import type { Dispute, Refund, Reversals } from '../invoice/reversals.ts';

/**
 * What somebody has to hear of: refunds that are done or have failed, disputes that were opened or lost. Each is in `after`
 * and not in `before`, so the first to record it announces it, and nobody else does. Pure.
 */
export function newReversals(
  before: Reversals | undefined,
  after: Reversals,
  paymentId: string,
): InvoiceEnd[] {
  return [
    ...moved(before?.refunds, after.refunds).flatMap(
      ({ id, amountMinor, status, failure, paymentId: of }) => {
        if (status !== 'succeeded' && status !== 'failed') return [];
        const kind = status === 'succeeded' ? ('refunded' as const) : ('refundFailed' as const);
        const reversal = { kind, paymentId: of ?? paymentId, reversalId: id, reversedMinor: amountMinor };
        return failure === undefined ? [reversal] : [{ ...reversal, reason: failure }];
      },
    ),
    ...moved(before?.disputes, after.disputes).flatMap(
      ({ id, amountMinor, status, reason, paymentId: of }) => {
        if (status === 'won') return [];
        const kind = status === 'lost' ? ('disputeLost' as const) : ('disputed' as const);
        return [{ kind, paymentId: of ?? paymentId, reversalId: id, reversedMinor: amountMinor, reason }];
      },
    ),
  ];
}

/** The same for the timeline, in one line: which refunds and disputes are new or have moved, and to what. Pure. */
export function reversalChanges(before: Reversals | undefined, after: Reversals): string {
  return [
    ...moved(before?.refunds, after.refunds).map(({ id, status }) => `refund ${id}: ${status}`),
    ...after.refunds
      .filter(
        ({ id, mayBe }) =>
          mayBe !== undefined && mayBe !== before?.refunds.find((one) => one.id === id)?.mayBe,
      )
      .map(({ id, mayBe }) => `refund ${id}: perhaps made as ${mayBe}, a person decides`),
    ...moved(before?.disputes, after.disputes).map(({ id, status }) => `dispute ${id}: ${status}`),
  ].join(', ');
}

/** Those that are new or have another status than before. */
function moved<T extends Refund | Dispute>(before: readonly T[] = [], after: readonly T[]): T[] {
  return after.filter(({ id, status }) => before.find((one) => one.id === id)?.status !== status);
}
