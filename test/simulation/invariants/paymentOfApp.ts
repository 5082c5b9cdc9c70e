import type { LedgerPayment, LedgerRefund } from '../world/ledger.ts';

/** A payment of 10.00 USD by the app that has succeeded, for tests of the invariants. */
export function paymentOfApp(
  id: string,
  refunds: readonly Pick<LedgerRefund, 'amountMinor' | 'status'>[],
): LedgerPayment {
  return {
    id,
    by: 'app',
    invoiceId: 'inv-1',
    customerId: 'cus-1',
    amountMinor: 1_000,
    currency: 'USD',
    deployment: undefined,
    key: id,
    createdAt: 0,
    searchableAt: 0,
    progress: { kind: 'succeeded' },
    refunds: refunds.map((refund, n) => ({ id: `re-${n}`, refundId: undefined, at: 0, ...refund })),
    disputes: [],
  };
}
