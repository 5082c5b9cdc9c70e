import type { Invoice } from '../invoice/invoice.ts';
import { invoiceActions } from './invoiceActions.ts';
import { waitingOf } from './waiting.ts';

/** An invoice as ops shows it: what was imported, and its state. */
export function invoiceView(invoice: Invoice) {
  const { id, customerId, amountMinor, currency, dueAt, paymentMethod = null, description = null } = invoice;
  const {
    status,
    shard,
    actionableAt = null,
    claim = null,
    payment,
    attempts,
    reason = null,
    reversals = null,
    checkAt = null,
    importedDueAt = null,
    archivedAt = null,
    createdAt,
  } = invoice;
  return {
    id,
    customerId,
    amountMinor,
    currency,
    dueAt,
    paymentMethod,
    description,
    status,
    shard,
    actionableAt,
    claim,
    payment,
    attempts,
    reason,
    waiting: waitingOf(invoice),
    reversals,
    checkAt,
    importedDueAt,
    archivedAt,
    createdAt,
  };
}

/** The same, with its timeline and what may be done with it. */
export function invoiceDetail(invoice: Invoice, { refunds }: { refunds: boolean }) {
  return {
    ...invoiceView(invoice),
    actions: invoiceActions(invoice, refunds),
    timeline: invoice.timeline,
  };
}
