import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { invoiceJsonSchema } from '../importing/checkInvoice.ts';
import { columns, csvRows } from '../importing/csvRows.ts';
import { type FilePart, inFile, numbered, originalRows } from '../importing/filePart.ts';
import { importInvoices, importLog } from '../importing/importInvoices.ts';
import type { ImportRecord, ImportView } from '../importing/importRecords.ts';
import { jsonRows } from '../importing/jsonRows.ts';
import {
  importLimits,
  mediaTypeOf,
  type Row,
  type RowReader,
  readRows,
  tooLarge,
} from '../importing/readRows.ts';
import { isPlainText } from '../importing/visibleText.ts';
import { ShardsChanged } from '../invoice/shard.ts';
import { type Problem, problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import {
  fileBegunAnswer,
  type ImportAnswer,
  type ImportViewAnswer,
  importAnswer,
  importsAnswer,
  importViewAnswer,
  rejectedAnswer,
} from './answers/importAnswers.ts';
import { type AuditRecorder, type CallParts, call } from './call.ts';
import { continuationQuery, dayQuery, oneOf } from './fields.ts';
import { conflict, notFound } from './refusals.ts';
import { type OpsResponse, pageAnswer, today } from './requests.ts';

const pageSize = 100;
/** Characters of a store's error that the audit trail keeps. */
const longestFailure = 300;

const readers: ReadonlyMap<string, RowReader> = new Map([
  ['application/json', jsonRows],
  ['text/csv', csvRows],
]);

/** `2-501,503`: numbers of rows. */
const rangesField = z
  .string()
  .max(6_000)
  .regex(/^\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*$/, { error: 'expected numbers of rows, like 2-501,503' })
  .transform((text) =>
    text.split(',').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: Math.min(Math.max(0, to - from + 1), mostPartRows) }, (_, n) => from + n);
    }),
  )
  .describe('Numbers of the rows of this part in its file, like 2-501,503');

/** Rows of a part of a file. */
const mostPartRows = 1_000;

const partQuery = z.object({
  import: z.string().exactOptional().describe('The import of the file that this is a part of'),
  part: z.coerce.number().int().min(0).exactOptional().describe('Its number, from 0'),
  rows: rangesField.exactOptional(),
});

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

export const importCalls = {
  importInvoices: call({
    method: 'POST',
    audit: 'import invoices',
    route: 'ops/invoices',
    tag: 'Invoices',
    summary: 'Stores the good rows, and names the first hundred bad ones',
    upload: {
      json: z.array(invoiceJsonSchema),
      csv: `A header (${columns.join(',')}), then a row for each invoice; the amount is decimal text`,
    },
    query: partQuery,
    answer: { json: importAnswer },
    problems: [404, 409, 413, 415, 500],
    async handle({ request, caller, query, record }, parts) {
      const type = request.headers.get('content-type');
      const reader = readers.get(mediaTypeOf(type));
      if (reader === undefined) return problemResponse(otherType(type));
      const body = await wholeBody(request, importLimits.bytes);
      if (body === undefined) return problemResponse(tooLarge(importLimits.bytes));
      try {
        await parts.checkShards();
      } catch (error) {
        if (!(error instanceof ShardsChanged)) throw error;
        return problemResponse(problem(500, error.message));
      }
      const by = caller.actor;
      const { import: importId, part = 0, rows = [] } = query;
      if (importId === undefined)
        return store(body, { reader, by, record, kept: parts.imports.begin(by) }, parts);
      const kept = await parts.imports.part(importId, part);
      if (kept === undefined) return notFound(`import "${importId}" of a file`);
      if (kept === 'notNext') return conflict(`a part before ${part} is missing: send that first`);
      // Its answer was lost: what it stored are duplicates now, which are recorded already.
      const again = { importId, write: async () => {} };
      const original = originalRows(body, reader);
      return store(
        body,
        { reader, by, record, kept: kept === 'repeated' ? again : kept, file: { numbers: rows, original } },
        parts,
      );
    },
  }),
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

/** Stores the rows of a body. A 4xx with counts: only a part could be read, and its good rows are stored. */
async function store(
  body: Buffer,
  {
    reader,
    by,
    record,
    kept,
    file,
  }: { reader: RowReader; by: string; record: AuditRecorder; kept: ImportRecord; file?: FilePart },
  { invoices, turns, instance }: CallParts,
): Promise<OpsResponse<ImportAnswer>> {
  const reading = { limits: importLimits, turns };
  let stop: Problem | undefined;
  async function* rows(): AsyncGenerator<readonly Row[]> {
    stop = yield* readRows(body, reader, reading);
  }
  const log = importLog(file === undefined ? kept : inFile(kept, file), instance.clock);
  const { failure } = await importInvoices(invoices, file === undefined ? rows() : numbered(rows(), file), {
    by,
    log,
  });
  const { created, duplicates, rejected } = log.counts;
  if (stop !== undefined && created + duplicates + rejected === 0) {
    if (file !== undefined) await log.end('stopped');
    return problemResponse(stop);
  }
  const unrecorded = await log.end(stop === undefined ? 'completed' : 'stopped');
  if (unrecorded !== undefined)
    instance.log(`import ${kept.importId} could not be recorded: ${errorText(unrecorded)}`);
  const importId = unrecorded === undefined ? kept.importId : null;
  await record('invoices', {
    importId,
    created,
    duplicates,
    rejected,
    ...(stop === undefined ? {} : { stopped: stop.detail }),
    ...(failure === undefined ? {} : { failure: errorText(failure).slice(0, longestFailure) }),
  });
  const result = { importId, created, duplicates, rejectedCount: rejected, rejected: log.shown() };
  if (stop === undefined) return { jsonBody: result };
  const detail = `${stop.detail} The rows before that have been read: created, duplicates and rejectedCount count them.`;
  return problemResponse({ ...stop, detail, ...result });
}

function importView({ file, sums, ...view }: ImportView): ImportViewAnswer {
  const { fileName = null, rows = null, columns: of = [], separator = ',' } = file ?? {};
  const amounts = Object.entries(sums).map(([currency, amountMinor]) => ({ currency, amountMinor }));
  return { ...view, fileName, rows, columns: [...of], separator, sums: amounts };
}

function otherType(given: string | null): Problem {
  const what = given ? `"${given.slice(0, 100)}"` : 'none';
  return problem(415, `Expected a content type of application/json or text/csv, in UTF-8, not ${what}.`);
}
