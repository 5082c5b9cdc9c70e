import {
  inOrder,
  type Refund,
  type RefundStatus,
  type Reversals,
  reversalsOf,
} from '../invoice/reversals.ts';
import type { ProviderReversals } from './paymentProvider.ts';

export const noReversals: ProviderReversals = { refunds: [], disputes: [] };

/**
 * The reversals once the provider's view is added to what is recorded. Its word counts; what only we know stays, such as a
 * refund that it has not taken yet. Undefined if there are none. Pure.
 *
 * Refunds are matched by id, never by amount. Views may come late and in any order, so nothing that has been reported is
 * taken back: a refund only moves on, and a dispute that was closed stays closed.
 */
export function withProviderReversals(
  recorded: Reversals | undefined,
  provider: ProviderReversals,
): Reversals | undefined {
  const refunds = [...(recorded?.refunds ?? [])];
  for (const { providerId, refundId, ...seen } of inOrder(provider.refunds, ({ providerId: id }) => id)) {
    const place = placeOf(refunds, providerId, refundId);
    const before = refunds[place];
    if (before !== undefined) {
      // The reason and the time of one of ours are those of its request.
      const { amountMinor, failure } = seen;
      const status = before.providerId === undefined ? seen.status : later(before.status, seen.status);
      const why = failure === undefined ? {} : { failure };
      refunds[place] = { ...before, providerId, amountMinor, status, ...why };
    } else {
      const isTaken = refunds.some(({ id }) => id === refundId);
      refunds.push({ id: isTaken ? providerId : (refundId ?? providerId), providerId, ...seen });
    }
  }
  const disputes = [...(recorded?.disputes ?? [])];
  for (const seen of provider.disputes) {
    const place = disputes.findIndex(({ id }) => id === seen.id);
    const before = disputes[place];
    if (before === undefined) disputes.push({ ...seen });
    else if (before.status === 'open' || seen.status !== 'open') disputes[place] = { ...before, ...seen };
  }
  return refunds.length + disputes.length === 0 ? undefined : reversalsOf(refunds, disputes, recorded);
}

/** Where the provider's refund is recorded. One of ours counts only once: a second one under its id is another refund. */
function placeOf(refunds: readonly Refund[], providerId: string, refundId: string | undefined): number {
  const known = refunds.findIndex((refund) => refund.providerId === providerId);
  if (known !== -1 || refundId === undefined) return known;
  return refunds.findIndex(({ id, providerId: taken }) => id === refundId && taken === undefined);
}

/** A refund never goes back to an earlier state. */
function later(one: RefundStatus, other: RefundStatus): RefundStatus {
  const order: readonly RefundStatus[] = ['requested', 'pending', 'succeeded', 'canceled', 'failed'];
  return order.indexOf(one) > order.indexOf(other) ? one : other;
}

/** Whether all of a payment's money has certainly gone back: refunds that are done, and disputes that are lost. Pure. */
export function isReversedInFull({ refunds, disputes }: ProviderReversals, amountMinor: number): boolean {
  const gone = [
    ...refunds.filter(({ status }) => status === 'succeeded'),
    ...disputes.filter(({ status }) => status === 'lost'),
  ];
  return gone.reduce((sum, part) => sum + part.amountMinor, 0) >= amountMinor;
}
