import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { type RecordParts, record } from './record.ts';

export type DueDateDecision =
  | { kind: 'move'; set: Pick<NonNullable<InvoiceChange['set']>, 'dueAt' | 'actionableAt' | 'importedDueAt'> }
  /** Nothing waits for its due date any more. */
  | { kind: 'refused'; status: InvoiceStatus }
  /** It may have been charged, and has to be asked about on its own schedule. */
  | { kind: 'mayBeCharged' };

/** Decides on another due date (ISO 8601, UTC). The imported one is kept, so that the same file can be imported again. Pure. */
export function decideDueDate(
  { status, payment, dueAt: before, importedDueAt = before }: Invoice,
  dueAt: string,
): DueDateDecision {
  if (status !== 'pending') return { kind: 'refused', status };
  if (payment.unknownSince !== undefined) return { kind: 'mayBeCharged' };
  return { kind: 'move', set: { dueAt, actionableAt: dueAt, importedDueAt } };
}

/**
 * Gives a pending invoice another due date, on behalf of `actor`, whatever it waited for. `before`: the date until then (ISO 8601).
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function moveDueDate(
  parts: RecordParts,
  id: string,
  { actor: by, dueAt }: { actor: string; dueAt: string },
) {
  const updated = await record<Exclude<DueDateDecision, { kind: 'move' }>>(parts, id, (invoice) => {
    const decision = decideDueDate(invoice, dueAt);
    if (decision.kind !== 'move') return decision;
    const entry = { what: 'due date moved', by, from: invoice.dueAt, to: dueAt };
    return { kind: 'change', change: { set: decision.set }, entry };
  });
  if (updated.kind !== 'updated') return updated;
  const { before, invoice } = updated;
  return { kind: 'moved' as const, before: before.dueAt, from: before.status, invoice };
}
