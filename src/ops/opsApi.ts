import { z } from 'zod';
import type { InvoiceArchive } from '../archive/invoiceArchive.ts';
import { MissingFromArchive } from '../archive/restoreInvoice.ts';
import type { CorrectionParts } from '../corrections/corrections.ts';
import { NewerVersion } from '../documents/storedDocuments.ts';
import type { ImportRecords } from '../intake/importRecords.ts';
import type { InvoiceCounts } from '../invoice/store/invoiceCounts.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { LockStore } from '../locking/index.ts';
import type { OutboxStore } from '../outbox/outboxStore.ts';
import type { PaceStore } from '../pacing/paceStore.ts';
import type { PauseStore } from '../pacing/pause.ts';
import { appVersion } from '../platform/appFolder.ts';
import { eventLoopTurns } from '../platform/eventLoopTurns.ts';
import type { Instance } from '../platform/instance.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import type { Orchestrations } from '../runs/startRun.ts';
import { whyNotAdmitted } from './admission.ts';
import type { AuditTrail } from './audit.ts';
import { listAudit } from './auditApi.ts';
import { startBulk } from './bulkApi.ts';
import type { Caller } from './caller.ts';
import { moveDueDateFor, retryInvoiceFor, voidInvoiceFor } from './correctionsApi.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { discardDeadLetters, listDeadLetters, redriveDeadLetters } from './deadLettersApi.ts';
import { exportInvoices } from './exportApi.ts';
import { checkHealth, type HealthCheck } from './health.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { getImport, importInvoicesFrom, listImports, listRejected } from './importsApi.ts';
import { getInvoice, listInvoices } from './invoicesApi.ts';
import { listLocksFor, releaseLock } from './locksApi.ts';
import { openApiDocument } from './openApi/openApiDocument.ts';
import type { Operation } from './openApi/operation.ts';
import { operationsOf } from './openApi/operations.ts';
import { discardOutboxFor, listOutboxFor, redriveOutboxFor } from './outboxApi.ts';
import { overviewOf } from './overview/overview.ts';
import { pausePayments, resumePayments } from './pauseApi.ts';
import { recountFigures } from './recountApi.ts';
import { refundInvoiceFor } from './refundsApi.ts';
import { getReport } from './reportApi.ts';
import { readQuery } from './requests.ts';
import { restoreInvoiceFor } from './restoreApi.ts';
import { cancelRunFor, getRun, listRuns, startRunFor } from './runsApi.ts';
import { summarize } from './summary.ts';

export interface OpsParts {
  invoices: InvoiceStore;
  invoiceCounts: InvoiceCounts;
  outbox: OutboxStore;
  job: Job;
  /** Shards of this deployment. */
  shards: number;
  /** The job behind `POST ops/bulk`. */
  bulk: Job;
  runs: RunStore;
  lockStore: LockStore;
  pace: PaceStore;
  pauses: PauseStore;
  audit: AuditTrail;
  imports: ImportRecords;
  archive: InvoiceArchive;
  corrections: CorrectionParts;
  deadLetters: readonly DeadLetterSource[];
  healthChecks: readonly HealthCheck[];
  checkShards: () => Promise<void>;
  /** Whether the payment provider offers refunds. */
  refunds: boolean;
  callerOf: (request: OpsRequest) => Caller;
  /** What this deployment is called. */
  environment: string;
  instance: Instance;
}

/** The calls under `ops/`, one function each: a request in, a response out. */
export function opsApi(parts: OpsParts) {
  /** For calls that change something: they are audited. */
  const onBehalfOf = (request: OpsRequest) => ({ ...parts, actor: parts.callerOf(request).actor });
  const turns = eventLoopTurns();
  const version = appVersion();
  const overview = overviewOf({ ...parts, summarize: () => summarize(parts) });
  /** Who calls, what they may do, and where: what every page of the dashboard shows. */
  const me = (request: OpsRequest) => ({
    ...parts.callerOf(request),
    environment: parts.environment,
    version,
    job: parts.job.name,
    calls: operationsOf(parts.job.name).map(({ id }) => id),
  });
  const calls = withReadableErrors({
    importInvoices: (request: OpsRequest) => importInvoicesFrom(request, { ...onBehalfOf(request), turns }),
    listImports: (request: OpsRequest) => listImports(request, parts),
    getImport: withoutQuery((request: OpsRequest) => getImport(request, parts)),
    listRejected: (request: OpsRequest) => listRejected(request, parts),
    listInvoices: (request: OpsRequest) => listInvoices(request, parts),
    getInvoice: withoutQuery((request: OpsRequest) => getInvoice(request, parts)),
    retryInvoice: (request: OpsRequest) => retryInvoiceFor(request, onBehalfOf(request)),
    refundInvoice: (request: OpsRequest) => refundInvoiceFor(request, onBehalfOf(request)),
    voidInvoice: (request: OpsRequest) => voidInvoiceFor(request, onBehalfOf(request)),
    restoreInvoice: (request: OpsRequest) => restoreInvoiceFor(request, onBehalfOf(request)),
    moveDueDate: (request: OpsRequest) => moveDueDateFor(request, onBehalfOf(request)),
    pausePayments: (request: OpsRequest) => pausePayments(request, onBehalfOf(request)),
    resumePayments: (request: OpsRequest, orchestrations: Orchestrations) =>
      resumePayments(request, orchestrations, onBehalfOf(request)),
    startRun: (request: OpsRequest, orchestrations: Orchestrations) =>
      startRunFor(request, orchestrations, onBehalfOf(request)),
    startBulk: (request: OpsRequest, orchestrations: Orchestrations) =>
      startBulk(request, orchestrations, onBehalfOf(request)),
    listRuns: (request: OpsRequest) => listRuns(request, parts),
    getRun: withoutQuery((request: OpsRequest) => getRun(request, parts)),
    cancelRun: (request: OpsRequest, orchestrations: Orchestrations) =>
      cancelRunFor(request, orchestrations, onBehalfOf(request)),
    listLocks: withoutQuery(() => listLocksFor(parts)),
    releaseLock: (request: OpsRequest) => releaseLock(request, onBehalfOf(request)),
    listOutbox: (request: OpsRequest) => listOutboxFor(request, parts),
    redriveOutbox: (request: OpsRequest) => redriveOutboxFor(request, onBehalfOf(request)),
    discardOutbox: (request: OpsRequest) => discardOutboxFor(request, onBehalfOf(request)),
    listAudit: (request: OpsRequest) => listAudit(request, parts),
    listDeadLetters: (request: OpsRequest) => listDeadLetters(request, parts),
    discardDeadLetters: (request: OpsRequest) => discardDeadLetters(request, onBehalfOf(request)),
    redriveDeadLetters: (request: OpsRequest) => redriveDeadLetters(request, onBehalfOf(request)),
    getSummary: withoutQuery(async () => ({ jsonBody: await summarize(parts) })),
    getOverview: withoutQuery(async () => ({ jsonBody: await overview() })),
    getMe: withoutQuery(async (request: OpsRequest) => ({ jsonBody: me(request) })),
    exportInvoices: (request: OpsRequest) => exportInvoices(request, parts),
    getReport: (request: OpsRequest) => getReport(request, parts),
    recountFigures: (request: OpsRequest) => recountFigures(request, onBehalfOf(request)),
    getOpenApi: withoutQuery(async () => ({
      jsonBody: openApiDocument({ job: parts.job.name, version }),
    })),
    getHealth: withoutQuery(async () => {
      const health = await checkHealth(parts);
      return { status: health.status === 'ok' ? 200 : 503, jsonBody: health };
    }),
  });
  return admitting(calls, operationsOf(parts.job.name), parts.callerOf);
}

/** A call that takes no query parameters. Refuses any, because the caller expects it to do something. */
function withoutQuery(call: (request: OpsRequest) => Promise<OpsResponse>) {
  return async (request: OpsRequest): Promise<OpsResponse> => {
    const query = readQuery(request, z.object({}));
    return query.ok ? call(request) : query.response;
  };
}

type Call = (...args: never[]) => Promise<OpsResponse>;

/** The same calls, each of which first looks at who calls, and from where. */
function admitting<
  Calls extends Record<string, (request: OpsRequest, ...rest: never[]) => Promise<OpsResponse>>,
>(calls: Calls, operations: readonly Operation[], callerOf: (request: OpsRequest) => Caller): Calls {
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  const admitted = Object.entries(calls).map(([id, call]) => {
    const operation = byId.get(id);
    if (operation === undefined) throw new Error(`the call ${id} is not among the operations`);
    const answer = async (request: OpsRequest, ...rest: never[]) =>
      whyNotAdmitted(operation, request, callerOf(request)) ?? call(request, ...rest);
    return [id, answer];
  });
  return Object.fromEntries(admitted) as Calls;
}

/**
 * The same calls; one that meets what a newer release wrote answers 503, because a process of that release can do it. One for an
 * archived invoice whose file is gone answers 500, and names it.
 */
function withReadableErrors<Calls extends Record<string, Call>>(calls: Calls): Calls {
  const answering =
    (call: Call): Call =>
    async (...args) => {
      try {
        return await call(...args);
      } catch (error) {
        if (error instanceof NewerVersion) return problemResponse(problem(503, error.message));
        if (error instanceof MissingFromArchive) return problemResponse(problem(500, error.message));
        throw error;
      }
    };
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, answering(call)])) as Calls;
}
