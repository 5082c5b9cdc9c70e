import { z } from 'zod';
import type { NotCorrected } from '../after/corrections.ts';
import { moveDueDate } from '../after/moveDueDate.ts';
import { retryInvoice } from '../after/retryInvoice.ts';
import { voidInvoice } from '../after/voidInvoice.ts';
import { importedFields } from '../importing/checkInvoice.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { invoiceDetailAnswer } from './answers/invoiceAnswers.ts';
import { call } from './call.ts';
import { optionalReasonBody, reasonBody, reasonSchema } from './fields.ts';
import { invoiceDetail, voidAdvice } from './invoiceView.ts';
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
      if (moved.kind !== 'moved') return whyNotCorrected(id, moved, ofMove);
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
      const { reason, notCharged = false, paymentMethod } = body;
      const method = paymentMethod === undefined ? {} : { paymentMethod };
      const retried = await retryInvoice(parts.corrections, id, {
        actor: caller.actor,
        notCharged,
        ...(reason === undefined ? {} : { reason }),
        ...method,
      });
      const detail = { notCharged, reason: reason ?? null, ...method };
      if (retried.kind === 'recorded') {
        const { from, status, paymentId } = retried;
        await record(id, { from, ...detail, outcome: status, paymentId });
      }
      if (retried.kind !== 'retried') return whyNotCorrected(id, retried, ofRetry);
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
      if (result.kind === 'voided') {
        // The first answer may have been lost before it was recorded here.
        const { from, repeated } = result;
        await record(id, { reason, outcome: 'voided', ...(repeated ? { repeated } : { from }) });
        return { jsonBody: invoiceDetail(result.invoice, parts.instance.clock) };
      }
      if (result.kind === 'recorded') {
        const { from, status, paymentId } = result;
        await record(id, { reason, from, outcome: status, paymentId });
      }
      if (result.kind === 'notCanceled') {
        await record(id, { reason, outcome: 'not canceled', paymentId: result.paymentId });
      }
      return whyNotCorrected(id, result, ofVoid);
    },
  }),
};

/** The rest of the sentence that refuses a correction, by its reason. Absent: it is not refused for that. */
interface Advice {
  refused: (status: InvoiceStatus) => string;
  recorded?: (status: 'paid' | 'processing') => string;
  mayBeCharged?: string;
}

const ofRetry: Advice = {
  refused: (status) =>
    status === 'pending'
      ? 'pending: it will be charged at the next run, or at the first one after it falls due. Another payment method has to come with the first retry'
      : `${status}: expected one that is parked or declined, or that waits for a later try, of a customer who has not been erased`,
  recorded: (status) => (status === 'paid' ? 'there is nothing to retry' : 'wait for its outcome'),
  mayBeCharged:
    'retry it without a payment method, or find out that nothing was charged and say so with notCharged',
};

const ofVoid: Advice = { refused: voidAdvice, recorded: () => 'refund it instead' };

const ofMove: Advice = {
  refused: (status) => `${status}: expected one that is pending, only those wait for their due date`,
  mayBeCharged: 'its outcome has to be known first',
};

function whyNotCorrected(id: string, why: NotCorrected, advice: Advice): OpsResponse<never> {
  switch (why.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'refused':
      return conflict(`invoice "${id}" is ${advice.refused(why.status)}`);
    case 'recorded': {
      const { paymentId, status } = why;
      const now = `the provider has payment ${paymentId} for invoice "${id}", which is ${status} now`;
      return conflict(`${now}: ${advice.recorded?.(status)}`);
    }
    case 'mayBeCharged':
      return conflict(`invoice "${id}" may have been charged: ${advice.mayBeCharged}`);
    case 'notCanceled':
      return conflict(
        `the provider does not cancel payment ${why.paymentId} of invoice "${id}" (${why.message}): wait for the outcome, then refund`,
      );
    case 'wait':
      return conflict(
        `the provider has no payment for invoice "${id}" yet, but a call may still be in flight: ask again from ${why.until} on`,
      );
    case 'unclear':
      return conflict(`invoice "${id}" needs a look at the provider first: ${why.message}`);
    case 'contended':
      return conflict(`invoice "${id}" is being changed by others: ask again`);
    case 'silent':
      return unavailable(
        `the provider could not say how invoice "${id}" stands, ask again later: ${why.message}`,
      );
  }
}
