import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Invoice } from '../invoice/invoice.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { invoiceDetailAnswer } from './answers/invoiceAnswers.ts';
import { call } from './call.ts';
import { reasonBody } from './fields.ts';
import { invoiceDetail } from './invoiceView.ts';

/** Invoices of one export: the answer is in memory as a whole. */
const mostInvoices = 5_000;
/** Invoices that an answer names; the others are counted. */
const mostShown = 100;

/** In the body, so that no log has the id in an address. */
const customerBody = reasonBody.extend({ customerId: z.string().min(1).max(255) });

const customerAnswer = z.object({ customerId: z.string(), invoices: z.array(invoiceDetailAnswer) });

const erasedAnswer = z.object({
  erased: z.int().describe('Invoices that were erased by this call'),
  complete: z.boolean().describe('False if there was no time for all of them: ask again'),
  leftCount: z.int(),
  left: z
    .array(
      z.object({
        id: z.string(),
        why: z
          .enum(['open', 'recent', 'refundPending', 'disputeOpen', 'tooManyDays', 'named', 'busy', 'missing'])
          .describe(
            'open: not paid, declined or voided. recent: changed within eight days. named: a message about it waits. busy: ask again. missing: the archive lacks its file',
          ),
      }),
    )
    .describe('The first hundred that were not: erase the customer again once they have settled'),
});

export const customerCalls = {
  exportCustomer: call({
    method: 'POST',
    audit: 'export customer',
    route: 'ops/customers/export',
    tag: 'Invoices',
    summary: 'Everything that is stored about a customer, archived invoices included',
    body: customerBody,
    targets: ({ customerId }) => [customerHash(customerId)],
    answer: { json: customerAnswer },
    problems: [413],
    async handle({ body: { customerId, reason }, record }, parts) {
      const found: Invoice[] = [];
      for await (const invoice of parts.customers.invoicesOf(customerId)) {
        if (found.push(invoice) <= mostInvoices) continue;
        const advice = 'GET ops/invoices.csv with customer and dates has those of the database';
        return problemResponse(
          problem(413, `The customer has more than ${mostInvoices} invoices: ${advice}.`),
        );
      }
      await record(customerHash(customerId), { reason, invoices: found.length });
      const invoices = found.map((invoice) => invoiceDetail(invoice, parts.instance.clock));
      return { jsonBody: { customerId, invoices } };
    },
  }),
  eraseCustomer: call({
    method: 'POST',
    audit: 'erase customer',
    route: 'ops/customers/erase',
    tag: 'Invoices',
    summary:
      'Erases what tells of a customer, archived invoices included; amounts, dates and payment ids stay',
    body: customerBody,
    targets: ({ customerId }) => [customerHash(customerId)],
    answer: { json: erasedAnswer },
    async handle({ caller, body: { customerId, reason }, record }, { customers }) {
      const { erased, left, complete } = await customers.erase(customerId, caller.actor);
      await record(customerHash(customerId), { reason, erased, left: left.length, complete });
      return { jsonBody: { erased, complete, leftCount: left.length, left: left.slice(0, mostShown) } };
    },
  }),
};

/** A filter as the journal and the audit trail have it: nobody can erase a customer from them. */
export function unnamed<Filter extends { customer?: string | undefined }>(filter: Filter): Filter {
  return filter.customer === undefined ? filter : { ...filter, customer: customerHash(filter.customer) };
}

/** Stands for a customer in the audit trail, which nobody can change: who knows the id can find the record. */
export function customerHash(customerId: string): string {
  return `customer ${createHash('sha256').update(customerId).digest('base64url')}`;
}
