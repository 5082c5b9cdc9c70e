import { allPages } from '@payonce/jobs/documents';
import { z } from 'zod';
import { type RequestedRefund, refundInvoice, settleRefund } from '../after/refundInvoice.ts';
import { columns } from '../importing/csvRows.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { formatAmount } from '../invoice/money.ts';
import type { InvoiceFilter, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { noteEntry } from '../invoice/timeline.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import {
  invoiceDetailAnswer,
  invoicesAnswer,
  refundAnswer,
  searchAnswer,
  totalsAnswer,
} from './answers/invoiceAnswers.ts';
import { call } from './call.ts';
import { unnamed } from './customerCalls.ts';
import { continuationQuery, invoiceFilter, oneOf, reasonBody, reasonSchema } from './fields.ts';
import { invoiceDetail, invoiceView } from './invoiceView.ts';
import { pageAnswer } from './listPages.ts';
import { badQuery, badRequest, conflict, keyTaken, notFound } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

const pageSize = 100;
/** Invoices that a count reads: some 500 request units. */
const mostTotalled = 10_000;

/** Orders of the list that an index serves; with a minus, the latest first. */
const sorts = ['dueAt', '-dueAt'] as const;

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
    summary: 'A page of the invoices that match, in the order of shard and id, or of their due dates',
    query: invoiceFilter.extend({ sort: oneOf(sorts).exactOptional(), ...continuationQuery.shape }),
    answer: { json: invoicesAnswer },
    async handle({ query: { sort, ...query } }, { invoices }) {
      if (sort === undefined) {
        const page = await invoices.list({ pageSize, ...query });
        return { jsonBody: pageAnswer('invoices', page, invoiceView) };
      }
      const { dueAfter: _, dueBefore: __, continuation: ___, ...others } = query;
      const [other] = Object.keys(others);
      if (other !== undefined)
        return badQuery([
          { field: 'sort', error: `expected no ${other} beside it: an index sorts by the due date alone` },
        ]);
      const order = sort === 'dueAt' ? 'ASC' : 'DESC';
      const page = await invoices.listByDue({ order, pageSize, ...query });
      return { jsonBody: pageAnswer('invoices', page, invoiceView) };
    },
  }),
  getTotals: call({
    method: 'GET',
    route: 'ops/totals',
    tag: 'Invoices',
    summary: `The number of invoices that match and their sums, of at most ${mostTotalled} of them`,
    query: invoiceFilter,
    answer: { json: totalsAnswer },
    async handle({ query }, { invoices }) {
      const { charge, sums, ...totals } = await invoices.totals(query, mostTotalled);
      return { jsonBody: { ...totals, sums: [...sums], requestUnits: charge } };
    },
  }),
  searchInvoices: call({
    method: 'GET',
    route: 'ops/search',
    tag: 'Invoices',
    summary:
      'Invoices and customers by the beginning of an id or of words of the description, in any case, of a payment id, or by an amount',
    query: z.object({ text: z.string().trim().min(1).max(100) }),
    answer: { json: searchAnswer },
    async handle({ query: { text } }, { invoices }) {
      const { groups, customers, hasMoreCustomers, charge: requestUnits } = await invoices.search(text);
      const views = groups.map((group) => ({ ...group, invoices: group.invoices.map(invoiceView) }));
      return { jsonBody: { groups: views, customers: [...customers], hasMoreCustomers, requestUnits } };
    },
  }),
  exportInvoices: call({
    method: 'GET',
    audit: 'export invoices',
    route: 'ops/invoices.csv',
    tag: 'Invoices',
    summary: 'All invoices that match, 100,000 at most',
    query: invoiceFilter,
    answer: { csv: 'The columns of an import, then what has become of the invoice' },
    problems: [413],
    async handle({ query, record }, { invoices }) {
      const answer = await exportInvoices(invoices, query);
      await record('invoices', unnamed(query));
      return answer;
    },
  }),
  getInvoice: call({
    method: 'GET',
    route: 'ops/invoices/{id}',
    tag: 'Invoices',
    summary: 'One invoice with its timeline',
    answer: { json: invoiceDetailAnswer },
    problems: [404],
    async handle({ id }, parts) {
      const invoice = await parts.invoices.find(id);
      return invoice === undefined
        ? notFound(`invoice "${id}"`)
        : { jsonBody: invoiceDetail(invoice, parts.instance.clock) };
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
    async handle({ id, caller, body: { reason }, record }, parts) {
      const { invoices, archive } = parts;
      const restored = await archive.restore(id, { by: caller.actor, reason });
      if (restored.kind === 'notArchived')
        return conflict(`invoice "${id}" is not in the archive: expected one that is`);
      if (restored.kind === 'restored') await record(id, { reason, archivedAt: restored.archivedAt });
      const invoice = restored.kind === 'restored' ? await invoices.find(id) : undefined;
      return invoice === undefined
        ? notFound(`invoice "${id}"`)
        : { jsonBody: invoiceDetail(invoice, parts.instance.clock) };
    },
  }),
  refundInvoice: call({
    method: 'POST',
    audit: 'refund invoice',
    route: 'ops/invoices/{id}/refund',
    tag: 'Invoices',
    summary: 'Orders a refund of a paid invoice, of all that was not refunded if no amount is given',
    idempotencyKey: 'required',
    body: refundBody,
    answer: { status: 202, json: refundAnswer },
    problems: [404, 409],
    async handle({ id, caller, body, idempotencyKey, record }, parts) {
      const wish = { ...body, by: caller.actor, idempotencyKey };
      const requested = await refundInvoice(parts.corrections, id, wish);
      if (requested.kind !== 'requested') return refusal(id, requested, body);
      const { id: refundId, amountMinor, status, at } = requested.refund;
      const detail = { refundId, amountMinor, reason: body.reason, idempotencyKey };
      await record(id, detail, { id: refundId, at });
      return { jsonBody: { refundId, status, amountMinor } };
    },
  }),
  settleRefund: call({
    method: 'POST',
    audit: 'settle refund',
    route: 'ops/invoices/{id}/refund/settle',
    tag: 'Invoices',
    summary:
      'Says whether a refund that was made at the provider is one that was requested here, or is ordered as well',
    body: z.strictObject({
      refundId: z.string(),
      providerId: z.string(),
      isSame: z.boolean({ error: 'expected true if they are one, false to order ours as well' }),
      reason: reasonSchema,
    }),
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
    async handle({ id, caller, body, record }, parts) {
      const settled = await settleRefund(parts.corrections, id, { ...body, by: caller.actor });
      switch (settled.kind) {
        case 'notFound':
          return notFound(`invoice "${id}"`);
        case 'notAsked':
          return conflict(
            `refund ${body.refundId} does not wait for a word on ${body.providerId}: expected its "mayBe"`,
          );
        case 'tooMuch':
          return conflict(
            `${settled.leftMinor} is left of invoice "${id}" (in minor units): expected as much as the refund. What is left can ` +
              'be refunded by another call, once this refund has ended with isSame: true',
          );
        case 'settled':
          await record(id, body);
          return { jsonBody: invoiceDetail(settled.invoice, parts.instance.clock) };
      }
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
        `invoice "${id}" is ${refused.status}: expected one that is paid, only those are refunded and others are voided`,
      );
    case 'tooMuch': {
      const { leftMinor } = refused;
      const left = leftMinor === 0 ? 'nothing is left' : `${leftMinor} is left (in minor units)`;
      const got = amountMinor === undefined ? '' : `: expected no more than that, got ${amountMinor}`;
      return conflict(`${left} of invoice "${id}" to refund${got}`);
    }
    case 'tooMany':
      return conflict(
        `invoice "${id}" has ${refused.most} refunds: expected fewer, make others in the provider's dashboard`,
      );
    case 'badAmount':
      return badRequest([{ field: 'amountMinor', error: refused.error }]);
    case 'otherRequest': {
      const { amountMinor: before, rest, reason = 'none' } = refused.refund;
      const of = rest === true ? `all that was left (${before})` : `${before}`;
      return keyTaken(`${of}, for the reason "${reason}"`);
    }
  }
}

const exportPageSize = 500;
/** Invoices of one export: some 20 MB, and half a minute. */
export const mostExported = 100_000;

/** The state of an invoice: the columns that follow those of an import, with their cells. */
const outcomes: Readonly<Record<string, (invoice: Invoice) => string | number | undefined>> = {
  status: ({ status }) => status,
  reason: ({ reason }) => reason,
  attempts: ({ attempts }) => attempts,
  createdAt: ({ createdAt }) => createdAt,
  paidAt: ({ payment }) => payment.paidAt,
  paymentId: ({ payment }) => payment.id,
  declinedAt: ({ declinedAt }) => declinedAt,
  refunded: ({ reversals, currency }) => formatAmount(reversals?.refundedMinor ?? 0, currency),
  disputed: ({ reversals, currency }) => formatAmount(reversals?.disputedMinor ?? 0, currency),
  notes: notesIn,
};

type Invoices = Pick<InvoiceStore, 'list'>;

/** All invoices that match, as CSV in the order of a list, or the advice to ask for fewer: the answer is in memory as a whole. */
export async function exportInvoices(invoices: Invoices, filter: InvoiceFilter): Promise<OpsResponse> {
  const lines = [csvLine([...columns, ...Object.keys(outcomes)])];
  let count = 0;
  const list = { ...filter, pageSize: exportPageSize };
  for await (const page of allPages((place) => invoices.list({ ...list, ...place }))) {
    count += page.length;
    if (count > mostExported) {
      const advice = 'ask for fewer by customer, currency, status, dueAfter or dueBefore';
      return problemResponse(problem(413, `More than ${mostExported} invoices match: ${advice}.`));
    }
    for (const invoice of page) lines.push(csvLine(cellsOf(invoice)));
  }
  return {
    headers: { 'content-type': csvType, 'content-disposition': 'attachment; filename="invoices.csv"' },
    body: lines.join(''),
  };
}

function cellsOf(invoice: Invoice): (string | number)[] {
  const { id, customerId, currency, dueAt, paymentMethod = '', description = '' } = invoice;
  const amount = formatAmount(invoice.amountMinor, currency);
  const texts = { id, customerId, amount, currency, dueAt, paymentMethod, description };
  const imported: Record<string, string> = texts;
  return [
    ...columns.map((column) => imported[column] ?? ''),
    ...Object.values(outcomes).map((cell) => cell(invoice) ?? ''),
  ];
}

function notesIn({ timeline }: Invoice): string {
  const notes = timeline.flatMap(({ at, what, by, text }) =>
    what === noteEntry && typeof text === 'string' ? [`${at} ${by}: ${text}`] : [],
  );
  return notes.join('\n');
}
