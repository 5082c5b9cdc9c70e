import type { Invoice, InvoiceStatus } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import {
  type Corrected,
  type CorrectionParts,
  ifStillSo,
  type NotCorrected,
  whileUnchanged,
} from './corrections.ts';

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

export type MovedInvoice =
  /** `before`: the due date until then, ISO 8601. */
  | ({ kind: 'moved'; before: string } & Corrected)
  | Extract<NotCorrected, { kind: 'notFound' | 'refused' | 'mayBeCharged' | 'contended' }>;

/**
 * Gives a pending invoice another due date (ISO 8601, UTC, milliseconds), on behalf of `actor`. It is paid then, whatever
 * retry it waited for.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function moveDueDate(
  { invoices, instance: { clock } }: Pick<CorrectionParts, 'invoices' | 'instance'>,
  id: string,
  { actor, dueAt }: { actor: string; dueAt: string },
): Promise<MovedInvoice> {
  return whileUnchanged<MovedInvoice>(invoices, id, async (invoice) => {
    const decision = decideDueDate(invoice, dueAt);
    if (decision.kind !== 'move') return decision;
    const at = new Date(clock.now()).toISOString();
    const before = invoice.dueAt;
    const entry = { at, what: 'due date moved', by: actor, from: before, to: dueAt };
    const written = await ifStillSo(invoices, invoice, { set: decision.set, entry });
    return written === 'again' ? written : { kind: 'moved', before, ...written };
  });
}
