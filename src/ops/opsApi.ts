import type { Container } from '@azure/cosmos';
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import type { LockStore } from '../locking/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { Telemetry } from '../platform/telemetry.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import type { Audit, ReadAudit } from './audit.ts';
import { listAudit } from './auditApi.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { listDeadLetters, redriveDeadLetters } from './deadLettersApi.ts';
import { checkHealth, type HealthCheck } from './health.ts';
import { getInvoice, importInvoicesFrom, listInvoicesFor, retryInvoiceFor } from './invoicesApi.ts';
import { listLocksFor, releaseLock } from './locksApi.ts';
import { listOutboxFor, redriveOutboxFor } from './outboxApi.ts';
import { cancelRunFor, getRun, listRuns, type Orchestrations, startRun } from './runsApi.ts';
import { summarize } from './summary.ts';

export interface OpsDependencies {
  container: Container;
  job: Job;
  runs: RunStore;
  lockStore: LockStore;
  clock: Clock;
  telemetry: Telemetry;
  audit: Audit;
  readAudit: ReadAudit;
  shards: number;
  checkShards: () => Promise<void>;
  healthChecks: readonly HealthCheck[];
  deadLetters: readonly DeadLetterSource[];
}

/** The calls under `ops/`, one function each: a request in, a response out. */
export function opsApi(dependencies: OpsDependencies) {
  return {
    importInvoices: (request: HttpRequest) => importInvoicesFrom(request, dependencies),
    listInvoices: (request: HttpRequest) => listInvoicesFor(request, dependencies),
    getInvoice: (request: HttpRequest) => getInvoice(request, dependencies),
    retryInvoice: (request: HttpRequest) => retryInvoiceFor(request, dependencies),
    startRun: (request: HttpRequest, orchestrations: Orchestrations) =>
      startRun(request, orchestrations, dependencies),
    listRuns: (request: HttpRequest) => listRuns(request, dependencies),
    getRun: (request: HttpRequest) => getRun(request, dependencies),
    cancelRun: (request: HttpRequest, orchestrations: Orchestrations) =>
      cancelRunFor(request, orchestrations, dependencies),
    listLocks: (_request: HttpRequest) => listLocksFor(dependencies),
    releaseLock: (request: HttpRequest) => releaseLock(request, dependencies),
    listOutbox: (request: HttpRequest) => listOutboxFor(request, dependencies),
    redriveOutbox: (request: HttpRequest) => redriveOutboxFor(request, dependencies),
    listAudit: (request: HttpRequest) => listAudit(request, dependencies),
    listDeadLetters: (_request: HttpRequest) => listDeadLetters(dependencies),
    redriveDeadLetters: (request: HttpRequest) => redriveDeadLetters(request, dependencies),
    getSummary: async (_request: HttpRequest): Promise<HttpResponseInit> => ({
      jsonBody: await summarize(dependencies),
    }),
    getHealth: async (_request: HttpRequest): Promise<HttpResponseInit> => {
      const health = await checkHealth(dependencies.healthChecks, dependencies.clock);
      return { status: health.status === 'ok' ? 200 : 503, jsonBody: health };
    },
  };
}
