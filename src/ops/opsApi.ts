import type { Container } from '@azure/cosmos';
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import type { Clock } from '../platform/clock.ts';
import type { Job } from '../runs/job.ts';
import type { RunStore } from '../runs/runStore.ts';
import type { Audit } from './audit.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { listDeadLetters, redriveDeadLetters } from './deadLettersApi.ts';
import { checkHealth, type HealthCheck } from './health.ts';
import { getInvoice, importInvoicesFrom, listInvoicesFor } from './invoicesApi.ts';
import { getRun, type Orchestrations, startRun } from './runsApi.ts';
import { summarize } from './summary.ts';

export interface OpsDependencies {
  container: Container;
  job: Job;
  runs: RunStore;
  clock: Clock;
  audit: Audit;
  shards: number;
  healthChecks: readonly HealthCheck[];
  deadLetters: readonly DeadLetterSource[];
}

/** The calls under `ops/`, one function each: a request in, a response out. */
export function opsApi(dependencies: OpsDependencies) {
  return {
    importInvoices: (request: HttpRequest) => importInvoicesFrom(request, dependencies),
    listInvoices: (request: HttpRequest) => listInvoicesFor(request, dependencies),
    getInvoice: (request: HttpRequest) => getInvoice(request, dependencies),
    startRun: (request: HttpRequest, orchestrations: Orchestrations) =>
      startRun(request, orchestrations, dependencies),
    getRun: (request: HttpRequest) => getRun(request, dependencies),
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
