import { z } from 'zod';
import type { ImportView } from '../importing/importRecords.ts';
import { isPlainText } from '../importing/visibleText.ts';
import {
  fileBegunAnswer,
  type ImportViewAnswer,
  importsAnswer,
  importViewAnswer,
  rejectedAnswer,
} from './answers/importAnswers.ts';
import { call } from './call.ts';
import { continuationQuery, dayQuery, oneOf, today } from './fields.ts';
import { pageAnswer } from './listPages.ts';
import { notFound } from './refusals.ts';

const pageSize = 100;

const fileBody = z.strictObject({
  fileName: z
    .string()
    .trim()
    .min(1)
    .max(255)
    .refine(isPlainText, { error: 'expected text without control characters' }),
  rows: z.int().min(1).max(10_000_000),
  columns: z.array(z.string().max(100)).max(20).default([]).describe('Of a CSV, in their order'),
  separator: oneOf([',', ';']).default(','),
});

/** The records of imports. A file that is imported part by part has one record, which begins here. */
export const importRecordCalls = {
  beginImport: call({
    method: 'POST',
    audit: 'begin import',
    route: 'ops/imports',
    tag: 'Invoices',
    summary: 'Begins the import of a file whose parts follow: they have one record',
    body: fileBody,
    answer: { json: fileBegunAnswer },
    async handle({ body, caller, record }, { imports }) {
      const importId = await imports.beginFile(caller.actor, body);
      await record(importId, { fileName: body.fileName, rows: body.rows });
      return { jsonBody: { importId } };
    },
  }),
  listImports: call({
    method: 'GET',
    route: 'ops/imports',
    tag: 'Invoices',
    summary: 'The imports of a day (UTC, today if absent), newest first, and how far each is',
    query: dayQuery,
    answer: { json: importsAnswer },
    async handle({ query }, { imports, instance }) {
      const page = await imports.list({ day: today(instance.clock), pageSize, ...query });
      return { jsonBody: pageAnswer('imports', page, importView) };
    },
  }),
  getImport: call({
    method: 'GET',
    route: 'ops/imports/{id}',
    tag: 'Invoices',
    summary: 'How far an import is',
    answer: { json: importViewAnswer },
    problems: [404],
    async handle({ id }, { imports }) {
      const found = await imports.find(id);
      return found === undefined ? notFound(`import "${id}"`) : { jsonBody: importView(found) };
    },
  }),
  listRejected: call({
    method: 'GET',
    route: 'ops/imports/{id}/rejected',
    tag: 'Invoices',
    summary: 'A page of the rows that an import refused, in the order in which they were found',
    query: continuationQuery,
    answer: { json: rejectedAnswer },
    problems: [404],
    async handle({ id, query }, { imports }) {
      const page = await imports.rejected(id, { pageSize, ...query });
      if (page === undefined) return notFound(`import "${id}"`);
      return { jsonBody: pageAnswer('rejected', page, (rejection) => rejection) };
    },
  }),
};

function importView({ file, sums, ...view }: ImportView): ImportViewAnswer {
  const { fileName = null, rows = null, columns: of = [], separator = ',' } = file ?? {};
  const amounts = Object.entries(sums).map(([currency, amountMinor]) => ({ currency, amountMinor }));
  return { ...view, fileName, rows, columns: [...of], separator, sums: amounts };
}
