import { poisonSource } from '@payonce/jobs/dead-letters';
import { BadContinuation, NewerVersion } from '@payonce/jobs/documents';
import type { Orchestrations } from '@payonce/jobs/runs/durable';
import type { PoisonItems } from '@payonce/jobs/work-items';
import { errorText } from '@payonce/leases/error-text';
import { z } from 'zod';
import { MissingFromArchive } from '../archive/restoreInvoice.ts';
import { UnreadableDocument } from '../invoice/counters/invoiceCounters.ts';
import { appVersion } from '../platform/appFolder.ts';
import { eventLoopTurns } from '../platform/eventLoopTurns.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { intend, NotRecorded, recordDone } from './audit.ts';
import { bulkJob } from './bulk/bulkJob.ts';
import type { AuditRecorder, Call, CallParts } from './call.ts';
import { type Caller, callerOf, named, whyNotAdmitted } from './caller.ts';
import { type CallId, calls, forEachCall } from './calls.ts';
import { unnamed } from './customerCalls.ts';
import { unsealed, withSealedPlace } from './listPages.ts';
import type { OpsParts } from './opsParts.ts';
import { badContinuation, unavailable } from './refusals.ts';
import { type OpsRequest, type OpsResponse, readBody, readIdempotencyKey, readQuery } from './requests.ts';

/** A request in, a response out. The client is needed by the calls that are declared `durable`. */
export type OpsCall = (request: OpsRequest, orchestrations?: Orchestrations) => Promise<OpsResponse>;

export function opsApi(given: OpsParts): Record<CallId, OpsCall> {
  const version = appVersion();
  const parts: CallParts = { ...given, version, turns: eventLoopTurns(), calls };
  return forEachCall((id) => answering(id, calls[id], parts));
}

/** Creates the parts of ops in an app: its calls, and the job behind `POST ops/bulk`. */
export function operations(
  given: Omit<OpsParts, 'bulk' | 'signIn' | 'environment' | 'shards'> & {
    poison: PoisonItems;
    workItems: Parameters<typeof poisonSource>[1];
  },
  { environment, shards, signIn }: Pick<OpsParts, 'environment' | 'shards' | 'signIn'>,
) {
  const deadLetters = [poisonSource(given.poison, given.workItems), ...given.deadLetters];
  const bulk = bulkJob({ ...given, deadLetters });
  return { bulk, calls: opsApi({ ...given, deadLetters, bulk, environment, shards, signIn }) };
}

/** Of every answer: it is data of customers, for nobody's cache, and of no other type than it says. */
const ofData = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Answers a call, or says why it is refused or what is in its way. */
function answering(id: CallId, call: Call, parts: CallParts): OpsCall {
  return async (request, orchestrations) => {
    const { headers, ...response } = await answer(request, orchestrations);
    return { ...response, headers: { ...headers, ...ofData } };
  };

  async function answer(request: OpsRequest, orchestrations?: Orchestrations): Promise<OpsResponse> {
    if (call.durable && orchestrations === undefined) throw new Error(`${id} needs the Durable client`);
    const caller = callerOf(request, parts.signIn);
    const refused = whyNotAdmitted(call, request, caller);
    if (refused !== undefined) {
      const { method, route, audit: action = `${method} ${route}` } = call;
      const detail = { outcome: 'refused', why: refused.detail };
      await recordDone(parts, { ...named(caller), action, target: request.params.id ?? route, detail });
      return problemResponse(refused);
    }
    try {
      return await respond(call, request, { caller, orchestrations }, parts);
    } catch (error) {
      return inTheWay(error);
    }
  }
}

/** Reads a request of somebody who may make it, has the journal take what changes, and answers. */
async function respond(
  call: Call,
  request: OpsRequest,
  { caller, orchestrations }: { caller: Caller; orchestrations: Orchestrations | undefined },
  parts: CallParts,
): Promise<OpsResponse> {
  const { route, audit, mayBeEmpty = false } = call;
  const query = readQuery(request, call.query ?? z.object({}));
  if (!query.ok) return query.response;
  const key = readIdempotencyKey(request, call.idempotencyKey);
  if (!key.ok) return key.response;
  const body = call.body && (await readBody(request, call.body, { mayBeEmpty }));
  if (body?.ok === false) return body.response;
  const id = request.params.id ?? '';
  const list = `${route} ${id}`;
  const isList = 'continuation' in (call.query?.shape ?? {});
  const asking: { continuation?: string; customer?: string } = { ...query.value };
  if (asking.continuation !== undefined) {
    const continuation = unsealed(list, asking.continuation);
    if (continuation === undefined) return badContinuation();
    asking.continuation = continuation;
  }
  const targets = call.targets?.(body?.value) ?? [id || route];
  // Nobody can erase a customer, or the text of a note, from the journal.
  const sent: { customerId?: unknown; text?: unknown } = { ...(body?.value as object | undefined) };
  const { customerId: _customer, text: _note, ...asks } = sent;
  const changes = { ...unnamed(asking), ...asks, idempotencyKey: key.value };
  const intent =
    audit === undefined ? undefined : await intend(parts, caller, { action: audit, targets, changes });
  // Only those that are audited record anything.
  const record = intent?.record as AuditRecorder;
  const asked = { request, caller, id, query: asking, body: body?.value, idempotencyKey: key.value };
  try {
    const answer = await call.handle({ ...asked, orchestrations, record }, parts);
    const { status = answer.jsonBody === undefined ? undefined : call.answer.status } = answer;
    await intent?.answered(status ?? 200);
    const response = status === undefined ? answer : { ...answer, status };
    return isList ? withSealedPlace(list, response) : response;
  } catch (error) {
    await intent?.record(targets.join(' '), { outcome: 'unknown', error: errorText(error).slice(0, 300) });
    await intent?.answered('unknown');
    throw error;
  }
}

/** The answer to a call that met this error. Throws it if it is nothing that the caller can act on. */
function inTheWay(error: unknown): OpsResponse {
  if (error instanceof BadContinuation) return badContinuation();
  // A process of the newer release can do it.
  if (error instanceof NewerVersion || error instanceof NotRecorded) return unavailable(error.message);
  if (error instanceof MissingFromArchive || error instanceof UnreadableDocument) {
    return problemResponse(problem(500, error.message));
  }
  throw error;
}
