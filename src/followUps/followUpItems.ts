import type { Settled } from '../paying/decideSettlement.ts';
import type { PaymentCommand } from '../paying/paymentBatch.ts';
import type { WorkItem } from '../workItems/workItem.ts';
import { notifyItem } from './notifyItem.ts';
import type { Unclear } from './reconcileItem.ts';

/**
 * The work items that follow from one settlement made at `at` (ISO 8601): the receipt of what is paid, and, where somebody
 * wants to hear of it (`notifies`), word of every end. `occasion` names the settlement. Pure.
 */
export function followUps(
  { command, settlement }: Settled,
  { at, occasion, notifies }: { at: string; occasion: string; notifies: boolean },
): WorkItem[] {
  if (settlement.kind === 'retry') return [];
  const paid = settlement.kind === 'paid';
  const items = paid ? [receiptItem(command, { paymentId: settlement.paymentId, paidAt: at })] : [];
  return notifies ? [...items, notifyItem(command, settlement, { at, occasion })] : items;
}

/** The order for a receipt. One per invoice: it is paid once. */
export function receiptItem(
  {
    invoiceId,
    customerId,
    amountMinor,
    currency,
    description,
  }: Pick<PaymentCommand, 'invoiceId' | 'customerId' | 'amountMinor' | 'currency' | 'description'>,
  payment: { paymentId: string; paidAt: string },
): WorkItem {
  const text = description === undefined ? {} : { description };
  const input = { customerId, amountMinor, currency, ...payment, ...text };
  return { resourceId: invoiceId, stage: 'receipt', input };
}

/** The invoices among these that are parked although they may have been charged. */
export function unclearOf(settled: readonly Settled[]): Unclear[] {
  return settled.flatMap(({ command: { invoiceId, payment }, settlement }) =>
    settlement.kind === 'parked' && settlement.unknown ? [{ invoiceId, keyNumber: payment.keyNumber }] : [],
  );
}
