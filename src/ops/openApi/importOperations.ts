import { z } from 'zod';
import { columns, invoiceJsonSchema } from '../../intake/checkInvoice.ts';
import { importAnswer, importsAnswer, importViewAnswer, rejectedAnswer } from '../answers/importAnswers.ts';
import { continuationQuery } from '../importsApi.ts';
import { dayQuery } from '../requests.ts';
import type { Operation } from './operation.ts';

export const importOperations: readonly Operation[] = [
  {
    id: 'importInvoices',
    method: 'post',
    path: 'ops/invoices',
    tag: 'Invoices',
    summary: 'Stores the good rows as they arrive, and names the first hundred bad ones',
    body: {
      json: z.array(invoiceJsonSchema),
      csv: `A header (${columns.join(',')}), then a row for each invoice; the amount is decimal text`,
    },
    answer: { json: importAnswer },
    problems: [408, 413, 415, 500],
  },
  {
    id: 'listImports',
    method: 'get',
    path: 'ops/imports',
    tag: 'Invoices',
    summary: 'The imports of a day (UTC, today if absent), newest first, and how far each is',
    query: dayQuery,
    answer: { json: importsAnswer },
  },
  {
    id: 'getImport',
    method: 'get',
    path: 'ops/imports/{id}',
    tag: 'Invoices',
    summary: 'How far an import is',
    answer: { json: importViewAnswer },
    problems: [404],
  },
  {
    id: 'listRejected',
    method: 'get',
    path: 'ops/imports/{id}/rejected',
    tag: 'Invoices',
    summary: 'A page of the rows that an import refused, in the order in which they were found',
    query: continuationQuery,
    answer: { json: rejectedAnswer },
    problems: [404],
  },
];
