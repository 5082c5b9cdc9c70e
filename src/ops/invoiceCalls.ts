import { z } from 'zod';
import { problem, problemResponse } from '../platform/problem.ts';
import { type RequestedRefund, refundInvoice } from '../refunds/refundInvoice.ts';
import { invoiceDetailAnswer, invoicesAnswer, refundAnswer } from './answers/invoiceAnswers.ts';
import { call } from './call.ts';
import { exportInvoices } from './exportInvoices.ts';
import { continuationQuery, invoiceFilter, reasonBody, reasonSchema } from './fields.ts';
import type { OpsResponse } from './http.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';
import { badRequest, conflict, notFound, pageAnswer } from './requests.ts';

const pageSize = 100;

const refundBody = z.strictObject({
  amountMinor: z
    .int({ error: 'expected a whole number of minor units, or nothing for all that is left' })
    .positive({ error: 'expected an amount above 0, or nothing for all that is left' })
    .exactOptional(),
  reason: reasonSchema,
});

export const invoiceCalls = {
  listInvoices: call({
    method: 'GET',
    route: 'ops/invoices',
    tag: 'Invoices',
    summary: 'A page of the invoices that match, in the order of shard and id',
    query: invoiceFilter.extend(continuationQuery.shape),
    answer: { json: invoicesAnswer },
    async handle({ query }, { invoices }) {
      return { jsonBody: pageAnswer('invoices', await invoices.list({ pageSize, ...query }), invoiceView) };
    },
  }),
  exportInvoices: call({
    method: 'GET',
    route: 'ops/invoices.csv',
    tag: 'Invoices',
    summary: 'All invoices that match',
    query: invoiceFilter,
    answer: { csv: 'The columns of an import, then what has become of the invoice' },
    handle: ({ query }, { invoices }) => exportInvoices(invoices, query),
  }),
  getInvoice: call({
    method: 'GET',
    route: 'ops/invoices/{id}',
    tag: 'Invoices',
    summary: 'One invoice with its timeline',
    answer: { json: invoiceDetailAnswer },
    problems: [404],
    async handle({ id }, { invoices }) {
      const invoice = await invoices.find(id);
      return invoice === undefined ? notFound(`invoice "${id}"`) : { jsonBody: invoiceDetail(invoice) };
    },
  }),
  restoreInvoice: call({
    method: 'POST',
    audit: 'restore invoice',
    route: 'ops/invoices/{id}/restore',
    tag: 'Invoices',
    summary: 'Puts an archived invoice back into the database',
    body: reasonBody,
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
    async handle({ id, caller, body: { reason }, record }, { invoices, archive }) {
      const restored = await archive.restore(id, { by: caller.actor, reason });
      if (restored.kind === 'notArchived')
        return conflict(`invoice "${id}" is not in the archive: expected one that is`);
      if (restored.kind === 'restored') await record(id, { reason, archivedAt: restored.archivedAt });
      const invoice = restored.kind === 'restored' ? await invoices.find(id) : undefined;
      return invoice === undefined ? notFound(`invoice "${id}"`) : { jsonBody: invoiceDetail(invoice) };
    },
  }),
  refundInvoice: call({
    method: 'POST',
    audit: 'refund invoice',
    route: 'ops/invoices/{id}/refund',
    tag: 'Invoices',
    summary: 'Orders a refund of a paid invoice, of all that is left if no amount is given',
    idempotencyKey: 'required',
    body: refundBody,
    answer: { status: 202, json: refundAnswer },
    problems: [404, 409, 422],
    async handle({ id, caller, body, idempotencyKey, record }, parts) {
      const requested = await refundInvoice(parts, id, { ...body, by: caller.actor, idempotencyKey });
      if (requested.kind !== 'requested') return refusal(id, requested, body);
      const { refund, created } = requested;
      const { id: refundId, amountMinor, status } = refund;
      if (created) await record(id, { refundId, amountMinor, reason: body.reason });
      return { jsonBody: { refundId, status } };
    },
  }),
};

function refusal(
  id: string,
  refused: Exclude<RequestedRefund, { kind: 'requested' }>,
  { amountMinor }: z.infer<typeof refundBody>,
): OpsResponse<never> {
  switch (refused.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'notPaid':
      return conflict(
        `invoice "${id}" is ${refused.status}: expected one that is paid, only those are refunded`,
      );
    case 'tooMuch': {
      const { leftMinor } = refused;
      const left = leftMinor === 0 ? 'nothing is left' : `${leftMinor} is left (in minor units)`;
      const got = amountMinor === undefined ? '' : `: expected no more than that, got ${amountMinor}`;
      return conflict(`${left} of invoice "${id}" to refund${got}`);
    }
    case 'tooMany':
      return conflict(`invoice "${id}" has ${refused.most} refunds: expected fewer`);
    case 'badAmount':
      return badRequest([{ field: 'amountMinor', error: refused.error }]);
    case 'otherRequest': {
      const { amountMinor: before, rest, reason = 'none' } = refused.refund;
      const of = rest === true ? `all that was left (${before})` : `${before}`;
      return problemResponse(
        problem(422, 'This Idempotency-Key stands for another refund of the invoice.', [
          {
            field: 'Idempotency-Key',
            error: `expected a new key, or the same request as before: ${of}, for the reason "${reason}"`,
          },
        ]),
      );
    }
  }
}
