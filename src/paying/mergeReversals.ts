import { type Reversals, reversalsOf } from '../invoice/reversals.ts';
import type { ProviderReversals } from './paymentProvider.ts';

export const noReversals: ProviderReversals = { refunds: [], disputes: [] };

/**
 * The reversals once the provider's view is added to what is recorded. Its word counts; what only we know stays, such as a
 * refund that it has not taken yet. Undefined if there are none. Pure.
 */
export function withProviderReversals(
  recorded: Reversals | undefined,
  provider: ProviderReversals,
): Reversals | undefined {
  const refunds = [...(recorded?.refunds ?? [])];
  for (const { providerId, refundId, ...seen } of provider.refunds) {
    const place = refunds.findIndex(
      (refund) => refund.providerId === providerId || (refundId !== undefined && refund.id === refundId),
    );
    const before = refunds[place];
    if (before === undefined) refunds.push({ id: refundId ?? providerId, providerId, ...seen });
    // The reason and the time of one of ours are those of its request.
    else refunds[place] = { ...before, providerId, amountMinor: seen.amountMinor, status: seen.status };
  }
  const disputes = [...(recorded?.disputes ?? [])];
  for (const seen of provider.disputes) {
    const place = disputes.findIndex(({ id }) => id === seen.id);
    if (place === -1) disputes.push({ ...seen });
    else disputes[place] = { ...disputes[place], ...seen };
  }
  return refunds.length + disputes.length === 0 ? undefined : reversalsOf(refunds, disputes, recorded);
}

/** Whether all of a payment's money has certainly gone back: refunds that are done, and disputes that are lost. Pure. */
export function isReversedInFull({ refunds, disputes }: ProviderReversals, amountMinor: number): boolean {
  const gone = [
    ...refunds.filter(({ status }) => status === 'succeeded'),
    ...disputes.filter(({ status }) => status === 'lost'),
  ];
  return gone.reduce((sum, part) => sum + part.amountMinor, 0) >= amountMinor;
}
