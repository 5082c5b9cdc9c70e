import { z } from 'zod';
import type { NotCorrected } from '../after/corrections.ts';
import { type MovedInvoice, moveDueDate } from '../after/moveDueDate.ts';
import { type RetriedInvoice, retryInvoice } from '../after/retryInvoice.ts';
import { type VoidedInvoice, voidInvoice } from '../after/voidInvoice.ts';
import { dueAtSchema, paymentMethodSchema } from '../importing/checkInvoice.ts';
import { invoiceDetailAnswer } from './answers/invoiceAnswers.ts';
import { call } from './call.ts';
import { optionalReasonBody, reasonBody, reasonSchema } from './fields.ts';
import { invoiceDetail, voidAdvice } from './invoiceView.ts';
import { conflict, notFound, type OpsResponse, unavailable } from './requests.ts';

/** A caller who says that nothing was charged has to say how they know. */
const retryBody = optionalReasonBody
  .extend({
    notCharged: z.literal(true, { error: 'expected true, or nothing' }).exactOptional(),
    paymentMethod: paymentMethodSchema.exactOptional(),
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
    summary: 'Moves the due date of a pending invoice',
    body: z.strictObject({ dueAt: dueAtSchema, reason: reasonSchema.exactOptional() }),
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
    async handle({ id, caller, body: { dueAt, reason }, record }, parts) {
      const moved = await moveDueDate(parts.corrections, id, { actor: caller.actor, dueAt });
      if (moved.kind !== 'moved') return whyNotMoved(id, moved);
      await record(id, { from: moved.before, to: dueAt, reason: reason ?? null });
      return { jsonBody: invoiceDetail(moved.invoice, parts.instance.clock) };
    },
  }),
  retryInvoice: call({
    method: 'POST',
    audit: 'retry invoice',
    route: 'ops/invoices/{id}/retry',
    tag: 'Invoices',
    summary: 'Puts an invoice that is parked, declined or waits for a later try back to pending, due now',
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
      if (retried.kind !== 'retried') return whyNotRetried(id, retried);
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
      return whyNotVoided(id, result);
    },
  }),
};

function whyNotRetried(id: string, why: Exclude<RetriedInvoice, { kind: 'retried' }>): OpsResponse<never> {
  switch (why.kind) {
    case 'refused':
      return conflict(
        `invoice "${id}" is ${why.status}: expected one that is parked or declined, or that waits for a later try, of a customer who has not been erased`,
      );
    case 'mayBeCharged':
      return conflict(
        `invoice "${id}" may have been charged: retry it without a payment method, or find out that nothing was charged and say so with notCharged`,
      );
    case 'recorded':
      return conflict(
        `${recorded(id, why)}: ${why.status === 'paid' ? 'there is nothing to retry' : 'wait for its outcome'}`,
      );
    case 'notFound':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotCorrected(id, why);
  }
}

function whyNotVoided(id: string, why: Exclude<VoidedInvoice, { kind: 'voided' }>): OpsResponse<never> {
  switch (why.kind) {
    case 'refused':
      return conflict(`invoice "${id}" is ${voidAdvice(why.status)}`);
    case 'recorded':
      return conflict(`${recorded(id, why)}: refund it instead`);
    case 'notCanceled':
      return conflict(
        `the provider does not cancel payment ${why.paymentId} of invoice "${id}" (${why.message}): wait for the outcome, then refund`,
      );
    case 'notFound':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotCorrected(id, why);
  }
}

function whyNotMoved(id: string, why: Exclude<MovedInvoice, { kind: 'moved' }>): OpsResponse<never> {
  switch (why.kind) {
    case 'refused':
      return conflict(
        `invoice "${id}" is ${why.status}: expected one that is pending, only those wait for their due date`,
      );
    case 'mayBeCharged':
      return conflict(`invoice "${id}" may have been charged: its outcome has to be known first`);
    case 'notFound':
      return notFound(`invoice "${id}"`);
  }
}

/** Refusals that every correction may meet. */
function whyNotCorrected(
  id: string,
  why: Extract<NotCorrected, { kind: 'notFound' | 'wait' | 'unclear' | 'silent' | 'contended' }>,
): OpsResponse<never> {
  switch (why.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'wait':
      return conflict(
        `the provider has no payment for invoice "${id}" yet, but a call may still be on its way: ask again from ${why.until} on`,
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

function recorded(id: string, { status, paymentId }: Extract<NotCorrected, { kind: 'recorded' }>): string {
  return `the provider has payment ${paymentId} for invoice "${id}", which is ${status} now`;
}
