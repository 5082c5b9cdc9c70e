import type { WorkItem } from '../workItems/workItem.ts';

/** Name of the stage that tells a webhook what became of an invoice (notify.ts). */
export const notifyStageName = 'notify';

/** What became of an invoice. */
export type InvoiceEnd =
  | { kind: 'paid'; paymentId: string }
  | { kind: 'declined' | 'parked'; reason: string };

/**
 * The order to tell the webhook of an end that came at `at` (ISO 8601). `occasion` names the transaction that wrote it, so
 * that a second end of the same kind is an event of its own. Pure.
 */
export function notifyItem(
  {
    invoiceId,
    customerId,
    amountMinor,
    currency,
  }: { invoiceId: string; customerId: string; amountMinor: number; currency: string },
  end: InvoiceEnd,
  { at, occasion }: { at: string; occasion: string },
): WorkItem {
  const why = end.kind === 'paid' ? { paymentId: end.paymentId } : { reason: end.reason };
  return {
    resourceId: invoiceId,
    stage: notifyStageName,
    occasion,
    input: { type: `invoice.${end.kind}`, at, customerId, amountMinor, currency, ...why },
  };
}
