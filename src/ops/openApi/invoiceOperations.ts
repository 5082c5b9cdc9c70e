import { invoiceDetailAnswer, invoicesAnswer, refundAnswer } from '../answers/invoiceAnswers.ts';
import { dueDateSchema, retrySchema, voidSchema } from '../correctionsApi.ts';
import { invoiceFilterSchema } from '../invoiceQuery.ts';
import { invoicesQuery } from '../invoicesApi.ts';
import { refundSchema } from '../refundsApi.ts';
import { restoreSchema } from '../restoreApi.ts';
import type { Operation } from './operation.ts';

const one = 'ops/invoices/{id}';

export const invoiceOperations: readonly Operation[] = [
  {
    id: 'listInvoices',
    method: 'get',
    path: 'ops/invoices',
    tag: 'Invoices',
    summary: 'A page of the invoices that match',
    query: invoicesQuery,
    answer: { json: invoicesAnswer },
  },
  {
    id: 'exportInvoices',
    method: 'get',
    path: 'ops/invoices.csv',
    tag: 'Invoices',
    summary: 'All invoices that match',
    query: invoiceFilterSchema,
    answer: { csv: 'The columns of an import, then what has become of the invoice' },
  },
  {
    id: 'getInvoice',
    method: 'get',
    path: one,
    tag: 'Invoices',
    summary: 'One invoice with its timeline',
    answer: { json: invoiceDetailAnswer },
    problems: [404],
  },
  {
    id: 'moveDueDate',
    method: 'patch',
    path: one,
    tag: 'Invoices',
    summary: 'Moves the due date of a pending invoice',
    body: { json: dueDateSchema },
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
  },
  {
    id: 'retryInvoice',
    method: 'post',
    path: `${one}/retry`,
    tag: 'Invoices',
    summary: 'Puts a parked or declined invoice back to pending, due now',
    body: { json: retrySchema, mayBeEmpty: true },
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409, 503],
  },
  {
    id: 'voidInvoice',
    method: 'post',
    path: `${one}/void`,
    tag: 'Invoices',
    summary: 'An unpaid invoice is never paid',
    body: { json: voidSchema },
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409, 503],
  },
  {
    id: 'restoreInvoice',
    method: 'post',
    path: `${one}/restore`,
    tag: 'Invoices',
    summary: 'Puts an archived invoice back into the database',
    body: { json: restoreSchema },
    answer: { json: invoiceDetailAnswer },
    problems: [404, 409],
  },
  {
    id: 'refundInvoice',
    method: 'post',
    path: `${one}/refund`,
    tag: 'Invoices',
    summary: 'Orders a refund of a paid invoice, of all that is left if no amount is given',
    idempotencyKey: 'required',
    body: { json: refundSchema },
    answer: { status: 202, json: refundAnswer },
    problems: [404, 409, 422],
  },
];
