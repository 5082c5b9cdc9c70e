import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { invoiceJsonSchema } from '../importing/checkInvoice.ts';
import { columns, csvRows } from '../importing/csvRows.ts';
import { importInvoices, importLog } from '../importing/importInvoices.ts';
import { jsonRows } from '../importing/jsonRows.ts';
import {
  importLimits,
  mediaTypeOf,
  type Row,
  type RowReader,
  readRows,
  tooLarge,
} from '../importing/readRows.ts';
import { ShardsChanged } from '../invoice/shard.ts';
import { type Problem, problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import {
  type ImportAnswer,
  importAnswer,
  importsAnswer,
  importViewAnswer,
  rejectedAnswer,
} from './answers/importAnswers.ts';
import { type AuditRecorder, type CallParts, call } from './call.ts';
import { continuationQuery, dayQuery } from './fields.ts';
import { notFound } from './refusals.ts';
import { type OpsResponse, pageAnswer, today } from './requests.ts';

const pageSize = 100;
/** Characters of a store's error that the audit trail keeps. */
const longestFailure = 300;

const readers: ReadonlyMap<string, RowReader> = new Map([
  ['application/json', jsonRows],
  ['text/csv', csvRows],
]);

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
    answer: { json: importAnswer },
    problems: [413, 415, 500],
    async handle({ request, caller, record }, parts) {
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
      return store(body, { reader, by: caller.actor, record }, parts);
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
      return { jsonBody: pageAnswer('imports', page, (view) => view) };
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
      return found === undefined ? notFound(`import "${id}"`) : { jsonBody: found };
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
  { reader, by, record }: { reader: RowReader; by: string; record: AuditRecorder },
  { invoices, imports, turns, instance }: CallParts,
): Promise<OpsResponse<ImportAnswer>> {
  const reading = { limits: importLimits, turns };
  let stop: Problem | undefined;
  async function* rows(): AsyncGenerator<readonly Row[]> {
    stop = yield* readRows(body, reader, reading);
  }
  const kept = imports.begin(by);
  const log = importLog(kept, instance.clock);
  const { failure } = await importInvoices(invoices, rows(), { by, log });
  const { created, duplicates, rejected } = log.counts;
  if (stop !== undefined && created + duplicates + rejected === 0) return problemResponse(stop);
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

function otherType(given: string | null): Problem {
  const what = given ? `"${given.slice(0, 100)}"` : 'none';
  return problem(415, `Expected a content type of application/json or text/csv, in UTF-8, not ${what}.`);
}
