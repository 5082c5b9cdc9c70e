import { z } from 'zod';
import type { NotCorrected } from '../after/corrections.ts';
import { moveDueDate } from '../after/moveDueDate.ts';
import { record as recordOn } from '../after/record.ts';
import { retryInvoice } from '../after/retryInvoice.ts';
import { undoVoid, voidInvoice } from '../after/voidInvoice.ts';
import { importedFields } from '../importing/checkInvoice.ts';
import { noteEntry } from '../invoice/timeline.ts';
import { invoiceDetailAnswer } from './answers/invoiceAnswers.ts';
import { type AuditRecorder, call } from './call.ts';
import { noteSchema, optionalReasonBody, reasonBody, reasonSchema } from './fields.ts';
import { invoiceDetail } from './invoiceView.ts';
import { type Advice, ofMove, ofRetry, ofUndo, ofVoid, whyNotCorrected } from './notCorrected.ts';
import { conflict, notFound, unavailable } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

/** A caller who says that nothing was charged has to say how they know. */
const retryBody = optionalReasonBody
  .extend({
    notCharged: z.literal(true, { error: 'expected true, or nothing' }).exactOptional(),
    paymentMethod: importedFields.paymentMethod,
  })
  .refine(({ reason, notCharged }) => notCharged === undefined || reason !== undefined, {
    path: ['reason'],
    error: 'expected how it was found out that nothing was charged',
  });

export const correctionCalls = {
  moveDueDate: call({
    method: 'PATCH',
    audit: 'move due date',
    route: 'ops/invoices/{id}',
    tag: 'Invoices',
    summary: 'Changes the due date of a pending invoice',
    body: z.strictObject({ dueAt: importedFields.dueAt, reason: reasonSchema.exactOptional() }),
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
    async handle({ id, caller, body: { dueAt, reason }, record }, parts) {
      const moved = await moveDueDate(parts.corrections, id, { actor: caller.actor, dueAt });
      if (moved.kind !== 'moved') return refused(id, moved, ofMove);
      await record(id, { from: moved.before, to: dueAt, reason: reason ?? null });
      return { jsonBody: invoiceDetail(moved.invoice, parts.instance.clock) };
    },
  }),
  retryInvoice: call({
    method: 'POST',
    audit: 'retry invoice',
    route: 'ops/invoices/{id}/retry',
    tag: 'Invoices',
    summary:
      'Puts an invoice that is parked, declined or waits for a later try back to pending, due now. Give another payment method in the first retry: the next one is refused',
    body: retryBody,
    mayBeEmpty: true,
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409, 503],
    async handle({ id, caller, body, record }, parts) {
      const retried = await retryInvoice(parts.corrections, id, { actor: caller.actor, ...body });
      const detail = { notCharged: false, reason: null, ...body };
      if (retried.kind !== 'retried')
        return refused(id, retried, ofRetry, (found) => record(id, { ...detail, ...found }));
      const { from, invoice } = retried;
      await record(id, { from, keyNumber: invoice.payment.keyNumber, ...detail });
      return { jsonBody: invoiceDetail(invoice, parts.instance.clock) };
    },
  }),
  voidInvoice: call({
    method: 'POST',
    audit: 'void invoice',
    route: 'ops/invoices/{id}/void',
    tag: 'Invoices',
    summary: 'An unpaid invoice is never paid',
    body: reasonBody,
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409, 503],
    async handle({ id, caller, body: { reason }, record }, parts) {
      const result = await voidInvoice(parts.corrections, id, { actor: caller.actor, reason });
      if (result.kind !== 'voided')
        return refused(id, result, ofVoid, (found) => record(id, { reason, ...found }));
      // The first answer may have been lost before it was recorded here.
      const { from, repeated } = result;
      await record(id, { reason, outcome: 'voided', ...(repeated ? { repeated } : { from }) });
      return { jsonBody: invoiceDetail(result.invoice, parts.instance.clock) };
    },
  }),
  undoVoid: call({
    method: 'POST',
    audit: 'undo void',
    route: 'ops/invoices/{id}/void/undo',
    tag: 'Invoices',
    summary: 'A voided invoice is pending again, if no key of it was ever sent',
    body: reasonBody,
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
    async handle({ id, caller, body: { reason }, record }, parts) {
      const undone = await undoVoid(parts.corrections, id, { actor: caller.actor, reason });
      if (undone.kind !== 'undone') return refused(id, undone, ofUndo);
      await record(id, { reason, from: undone.from });
      return { jsonBody: invoiceDetail(undone.invoice, parts.instance.clock) };
    },
  }),
  addNote: call({
    method: 'POST',
    audit: 'add note',
    route: 'ops/invoices/{id}/notes',
    tag: 'Invoices',
    summary: 'Adds a note to the timeline of an invoice in any state',
    body: z.strictObject({ text: noteSchema }),
    answer: { json: invoiceDetailAnswer },
    problems: [404],
    async handle({ id, caller: { actor: by }, body: { text }, record }, parts) {
      const noted = await recordOn<never>(parts.corrections, id, () => {
        return { kind: 'change', change: {}, entry: { what: noteEntry, by, text } };
      });
      if (noted.kind !== 'updated') return notFound(`invoice "${id}"`);
      // The text stays with the invoice, where an erasure of the customer reaches it.
      await record(id, {});
      return { jsonBody: invoiceDetail(noted.invoice, parts.instance.clock) };
    },
  }),
};

/** `record`: a payment that was found, or not canceled, is on record too. */
async function refused(
  id: string,
  why: NotCorrected,
  advice: Advice,
  record: (found: Parameters<AuditRecorder>[1]) => Promise<void> = async () => {},
): Promise<OpsResponse<never>> {
  const it = `invoice "${id}"`;
  if (why.kind === 'notFound') return notFound(it);
  if (why.kind === 'recorded')
    await record({ from: why.from, outcome: why.status, paymentId: why.paymentId });
  if (why.kind === 'notCanceled') await record({ outcome: 'not canceled', paymentId: why.paymentId });
  const text = whyNotCorrected(it, why, advice);
  return why.kind === 'silent' ? unavailable(text) : conflict(text);
}
