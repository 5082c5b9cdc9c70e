import type { Invoice } from '../invoice/invoice.ts';
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
    createdAt,
  };
}

/** The same, with its timeline. */
export function invoiceDetail(invoice: Invoice) {
  return { ...invoiceView(invoice), timeline: invoice.timeline };
}
