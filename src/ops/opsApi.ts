import { poisonSource } from '@payonce/jobs/dead-letters';
import { BadContinuation, NewerVersion } from '@payonce/jobs/documents';
import type { Orchestrations } from '@payonce/jobs/runs/durable';
import type { PoisonItems } from '@payonce/jobs/work-items';
import { MissingFromArchive } from '../archive/restoreInvoice.ts';
import { UnreadableDocument } from '../invoice/counters/invoiceCounters.ts';
import { appVersion } from '../platform/appFolder.ts';
import { eventLoopTurns } from '../platform/eventLoopTurns.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { NotRecorded, recordDone } from './audit.ts';
import { bulkJob } from './bulk/bulkJob.ts';
import type { Call, CallParts } from './call.ts';
import { callerOf, named, type SignIn, whyNotAdmitted } from './caller.ts';
import { type CallId, calls, forEachCall } from './calls.ts';
import type { OpsParts } from './opsParts.ts';
import { badContinuation, unavailable } from './refusals.ts';
import type { OpsRequest, OpsResponse } from './requests.ts';

/** A request in, a response out. The client is needed by the calls that are declared `durable`. */
export type OpsCall = (request: OpsRequest, orchestrations?: Orchestrations) => Promise<OpsResponse>;

/** The calls under `ops/`, one function each. */
export function opsApi(given: OpsParts): Record<CallId, OpsCall> {
  const version = appVersion();
  const parts: CallParts = { ...given, version, turns: eventLoopTurns(), calls };
  return forEachCall((id) => answering(id, calls[id], parts));
}

/** Creates the parts of ops in an app: its calls, and the job behind `POST ops/bulk`. */
export function operations(
  given: Omit<OpsParts, 'bulk' | 'callerOf' | 'environment' | 'shards'> & {
    poison: PoisonItems;
    workItems: Parameters<typeof poisonSource>[1];
  },
  { environment, shards, signIn }: { environment: string; shards: number; signIn: SignIn },
) {
  const deadLetters = [poisonSource(given.poison, given.workItems), ...given.deadLetters];
  const bulk = bulkJob({ ...given, deadLetters });
  const callerHere = (request: OpsRequest) => callerOf(request, signIn);
  const parts = { ...given, deadLetters, bulk, environment, shards, callerOf: callerHere };
  return { bulk, calls: opsApi(parts) };
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
    const caller = parts.callerOf(request);
    const refused = whyNotAdmitted(call, request, caller);
    if (refused !== undefined) {
      const { method, route, audit: action = `${method} ${route}` } = call;
      const detail = { outcome: 'refused', why: refused.detail };
      await recordDone(parts, { ...named(caller), action, target: request.params.id ?? route, detail });
      return problemResponse(refused);
    }
    try {
      return await call.respond(request, { caller, orchestrations }, parts);
    } catch (error) {
      const response = inTheWay(error);
      if (response === undefined) throw error;
      return response;
    }
  }
}

/** The answer to a call that met this; undefined if it is nothing that the caller can act on. */
function inTheWay(error: unknown): OpsResponse | undefined {
  if (error instanceof BadContinuation) return badContinuation();
  // A process of the newer release can do it.
  if (error instanceof NewerVersion || error instanceof NotRecorded) return unavailable(error.message);
  if (error instanceof MissingFromArchive || error instanceof UnreadableDocument) {
    return problemResponse(problem(500, error.message));
  }
  return undefined;
}
