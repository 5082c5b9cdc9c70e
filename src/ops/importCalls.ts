import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { invoiceJsonSchema } from '../importing/checkInvoice.ts';
import { columns, csvRows } from '../importing/csvRows.ts';
import { type FilePart, inFile, numbered, originalRows, partQuery } from '../importing/filePart.ts';
import { importInvoices, importLog } from '../importing/importInvoices.ts';
import type { ImportRecord } from '../importing/importRecords.ts';
import { jsonRows } from '../importing/jsonRows.ts';
import { importLimits, mediaTypeOf, type RowReader, readRows, tooLarge } from '../importing/readRows.ts';
import { ShardsChanged } from '../invoice/shard.ts';
import { type Problem, problem, problemResponse } from '../platform/problem.ts';
import { wholeBody } from '../platform/wholeBody.ts';
import { type ImportAnswer, importAnswer } from './answers/importAnswers.ts';
import { type AuditRecorder, type CallParts, call } from './call.ts';
import { conflict, notFound } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

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
      const how = { reader, by, record };
      const { import: importId, part = 0, rows = [] } = query;
      if (importId === undefined) return store(body, { ...how, kept: parts.imports.begin(by) }, parts);
      const kept = await parts.imports.part(importId, part);
      if (kept === undefined) return notFound(`import "${importId}" of a file`);
      if (kept === 'notNext') return conflict(`a part before ${part} is missing: send that first`);
      // Its answer was lost: what it stored are duplicates now, which are recorded already.
      const again = { importId, write: async () => {} };
      const file = { numbers: rows, original: originalRows(body, reader) };
      return store(body, { ...how, kept: kept === 'repeated' ? again : kept, file }, parts);
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
  let stop: Problem | undefined;
  const reading = { limits: importLimits, turns, stopped: (why: Problem) => void (stop = why) };
  const rows = readRows(body, reader, reading);
  const log = importLog(file === undefined ? kept : inFile(kept, file), instance.clock);
  const read = file === undefined ? rows : numbered(rows, file);
  const { failure } = await importInvoices(invoices, read, { by, log });
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

function otherType(given: string | null): Problem {
  const what = given ? `"${given.slice(0, 100)}"` : 'none';
  return problem(415, `Expected a content type of application/json or text/csv, in UTF-8, not ${what}.`);
}
