import { ifStillSo, whileUnchanged } from './attempts.ts';
import type { Corrected, CorrectionParts, NotCorrected } from './corrections.ts';
import { decideDueDate } from './decideDueDate.ts';

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
