import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';

/** What becomes of a person's request to move a due date. */
export type DueDateDecision =
  | { kind: 'move'; set: Pick<NonNullable<InvoiceChange['set']>, 'dueAt' | 'actionableAt' | 'importedDueAt'> }
  /** Nothing waits for its due date any more. */
  | { kind: 'refused'; status: InvoiceStatus }
  /** It may have been charged, and has to be asked about on its own schedule. */
  | { kind: 'mayBeCharged' };

/**
 * Decides whether an invoice becomes due at another time (ISO 8601, UTC, milliseconds). The imported date is kept, so that
 * the same file can be imported again. Pure.
 */
export function decideDueDate(
  { status, payment, dueAt: before, importedDueAt = before }: Invoice,
  dueAt: string,
): DueDateDecision {
  if (status !== 'pending') return { kind: 'refused', status };
  if (payment.unknownSince !== undefined) return { kind: 'mayBeCharged' };
  return { kind: 'move', set: { dueAt, actionableAt: dueAt, importedDueAt } };
}
