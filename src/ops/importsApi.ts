import { z } from 'zod';
import { csvRows } from '../intake/csvRows.ts';
import { importInvoices, storeMs } from '../intake/importInvoices.ts';
import { importLog } from '../intake/importLog.ts';
import type { ImportRecords } from '../intake/importRecords.ts';
import { jsonRows } from '../intake/jsonRows.ts';
import { mediaTypeOf } from '../intake/mediaType.ts';
import { type Row, readRows, tooLarge } from '../intake/readRows.ts';
import { importLimits, type RowReader } from '../intake/rowReader.ts';
import { ShardsChanged } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type BodyChunks, bodyChunks, mostDiscarded } from '../platform/bodyChunks.ts';
import { errorText } from '../platform/errorText.ts';
import type { Turns } from '../platform/eventLoopTurns.ts';
import type { Instance } from '../platform/instance.ts';
import { type Problem, problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { dayQuery, notFound, type Parsed, pageResponse, readQuery, today } from './requests.ts';

const pageSize = 100;
/** Characters of a store's error that the audit trail keeps. */
const longestFailure = 300;
/** Milliseconds for the body to arrive and be stored, and for what is under way then to end. */
const readMs = storeMs + 10_000;

interface Parts {
  invoices: Pick<InvoiceStore, 'add'>;
  imports: ImportRecords;
  turns: Turns;
  /** @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
  audit: AuditTrail;
  instance: Pick<Instance, 'clock' | 'log'>;
  /** Who calls, for the audit trail. */
  actor: string;
}

const readers: ReadonlyMap<string, () => RowReader> = new Map([
  ['application/json', () => jsonRows(importLimits)],
  ['text/csv', () => csvRows(importLimits)],
]);

/**
 * `POST ops/invoices`: stores the good rows as they arrive, and names the bad ones and those that may not have been stored:
 * the first hundred in the answer, all of them at `ops/imports/{id}/rejected`. A 4xx with counts: the body could be read only
 * so far, and what came before is stored.
 */
export async function importInvoicesFrom(request: OpsRequest, parts: Parts): Promise<OpsResponse> {
  const { clock } = parts.instance;
  const [late, timer] = [new AbortController(), new AbortController()];
  void clock.sleep(readMs, timer.signal).then(
    () => late.abort(),
    () => {},
  );
  try {
    const body = bodyChunks(request.body, late.signal);
    const admitted = await admit(request, parts);
    const response = admitted.ok ? await store(body, admitted.value, parts) : admitted.response;
    await body.discard(mostDiscarded);
    return response;
  } finally {
    timer.abort();
  }
}

/** What reads the body, or why it is not read at all. */
async function admit(request: OpsRequest, { checkShards }: Parts): Promise<Parsed<RowReader>> {
  const query = readQuery(request, z.object({}));
  if (!query.ok) return query;
  const type = request.headers.get('content-type');
  const reader = readers.get(mediaTypeOf(type))?.();
  if (reader === undefined) return refused(otherType(type));
  if (Number(request.headers.get('content-length') ?? 0) > importLimits.bytes)
    return refused(tooLarge(importLimits.bytes));
  try {
    await checkShards();
  } catch (error) {
    if (!(error instanceof ShardsChanged)) throw error;
    return refused(problem(500, error.message));
  }
  return { ok: true, value: reader };
}

function refused(why: Problem): Parsed<never> {
  return { ok: false, response: problemResponse(why) };
}

async function store(
  body: BodyChunks,
  reader: RowReader,
  { invoices, imports, turns, audit, instance, actor }: Parts,
): Promise<OpsResponse> {
  const reading = { limits: importLimits, turns };
  let stop: Problem | undefined;
  async function* rows(): AsyncGenerator<readonly Row[]> {
    stop = yield* readRows(body, reader, reading);
  }
  const record = imports.begin(actor);
  const log = importLog(record, instance.clock);
  const { failure } = await importInvoices(invoices, rows(), { by: actor, log });
  const { created, duplicates, rejected } = log.counts;
  if (stop !== undefined && created + duplicates + rejected === 0) return problemResponse(stop);
  const unrecorded = await log.end(stop === undefined ? 'completed' : 'stopped');
  if (unrecorded !== undefined)
    instance.log(`import ${record.importId} could not be recorded: ${errorText(unrecorded)}`);
  const importId = unrecorded === undefined ? record.importId : null;
  await audit.append({
    actor,
    action: 'import invoices',
    target: 'invoices',
    detail: {
      importId,
      created,
      duplicates,
      rejected,
      ...(stop === undefined ? {} : { stopped: stop.detail }),
      ...(failure === undefined ? {} : { failure: errorText(failure).slice(0, longestFailure) }),
    },
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

type Reading = Pick<Parts, 'imports' | 'instance'>;

/** `GET ops/imports?day=&continuation=`: the imports of a day (UTC, today if absent), newest first, with how far each is. */
export async function listImports(request: OpsRequest, { imports, instance }: Reading): Promise<OpsResponse> {
  const query = readQuery(request, dayQuery);
  if (!query.ok) return query.response;
  const list = imports.list({ day: today(instance.clock), pageSize, ...query.value });
  return pageResponse('imports', list, (view) => view);
}

/** `GET ops/imports/{id}`: how far an import is. */
export async function getImport(
  request: OpsRequest,
  { imports }: Pick<Reading, 'imports'>,
): Promise<OpsResponse> {
  const { id = '' } = request.params;
  const found = await imports.find(id);
  return found === undefined ? notFound(`import "${id}"`) : { jsonBody: found };
}

export const continuationQuery = z.object({ continuation: z.string().exactOptional() });

/** `GET ops/imports/{id}/rejected?continuation=`: a page of the rows that an import refused, as they were found. */
export async function listRejected(
  request: OpsRequest,
  { imports }: Pick<Reading, 'imports'>,
): Promise<OpsResponse> {
  const query = readQuery(request, continuationQuery);
  if (!query.ok) return query.response;
  const { id = '' } = request.params;
  let missing = false;
  const page = imports.rejected(id, { pageSize, ...query.value }).then((found) => {
    missing = found === undefined;
    return found ?? { items: [] };
  });
  const response = await pageResponse('rejected', page, (rejection) => rejection);
  return missing ? notFound(`import "${id}"`) : response;
}
