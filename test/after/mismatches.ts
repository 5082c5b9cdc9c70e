import type { Invoice } from '../../src/invoice/invoice.ts';

/** Records of the payment stand-in, from its `/_local/` endpoints. All amounts have two decimals here. */
export interface Ledger {
  charges: readonly { invoiceId: string; paymentIntent: string; amount: number; currency: string }[];
  refunds: readonly { invoiceId: string; amount: number; status: string }[];
  disputes: readonly { payment_intent: string; amount: number; status: string }[];
}

/**
 * Lists the differences between the invoices and the ledger, in words. `receipts`: the ids of the invoices
 * that got one. Pure.
 */
export function mismatches(
  invoices: readonly Invoice[],
  { charges, refunds, disputes }: Ledger,
  receipts: readonly string[],
): string[] {
  const chargesOf = Map.groupBy(charges, ({ invoiceId }) => invoiceId);
  const refundsOf = Map.groupBy(refunds, ({ invoiceId }) => invoiceId);
  const disputesOf = Map.groupBy(disputes, (dispute) => dispute.payment_intent);
  const receiptsOf = Map.groupBy(receipts, (id) => id);
  const unknown = charges.filter(({ invoiceId }) => !invoices.some(({ id }) => id === invoiceId));
  return [
    ...unknown.map(({ invoiceId }) => `${invoiceId}: charged, but there is no such invoice`),
    ...invoices.flatMap((invoice) => problemsOf(invoice).map((problem) => `${invoice.id}: ${problem}`)),
  ];

  function problemsOf({ id, status, amountMinor, currency, payment, reversals }: Invoice): string[] {
    const [charge, ...more] = chargesOf.get(id) ?? [];
    if (more.length > 0) return [`charged ${more.length + 1} times`];
    const got = receiptsOf.get(id)?.length ?? 0;
    if (charge === undefined) {
      return [
        ...(status === 'declined' || status === 'parked' ? [] : [`${status}, though it was never charged`]),
        ...(got > 0 ? ['a receipt, though it was never charged'] : []),
        ...(reversals === undefined ? [] : ['reversals, though it was never charged']),
      ];
    }
    const refunded = (refundsOf.get(id) ?? [])
      .filter((refund) => refund.status !== 'failed' && refund.status !== 'canceled')
      .reduce((sum, { amount }) => sum + amount, 0);
    const disputed = (disputesOf.get(charge.paymentIntent) ?? [])
      .filter((dispute) => dispute.status !== 'won' && dispute.status !== 'warning_closed')
      .reduce((sum, { amount }) => sum + amount, 0);
    return [
      ...differ('status', status, 'paid'),
      ...differ('payment', payment.id, charge.paymentIntent),
      ...differ('amount', amountMinor, charge.amount),
      ...differ('currency', currency.toLowerCase(), charge.currency),
      ...differ('refunded', reversals?.refundedMinor ?? 0, refunded),
      ...differ('disputed', reversals?.disputedMinor ?? 0, disputed),
      // Money that has gone back before anybody knew of the charge needs no receipt.
      ...(got > 1 || (got === 0 && reversals === undefined) ? [`${got} receipts`] : []),
    ];
  }
}

function differ(what: string, recorded: unknown, actual: unknown): string[] {
  return recorded === actual ? [] : [`${what} is ${String(recorded)}, the ledger has ${String(actual)}`];
}
