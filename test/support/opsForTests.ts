import { HttpRequest, type HttpResponseInit } from '@azure/functions';
import type { Invoice } from '../../src/invoices/invoice.ts';
import { cosmosAudit } from '../../src/ops/audit.ts';
import { opsApi } from '../../src/ops/opsApi.ts';
import { cosmosRunStore } from '../../src/runs/runStore.ts';
import { aJob } from './aJob.ts';
import { anInvoice } from './anInvoice.ts';
import { payonceCosmos } from './payonceCosmos.ts';
import { virtualClock } from './virtualClock.ts';

export interface Call {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  params?: Record<string, string>;
}

/** The ops calls on a Cosmos of their own, for a job with the groups 0 and 1, at 2026-01-01T12:00Z. */
export async function opsForTests() {
  const cosmos = await payonceCosmos();
  const clock = virtualClock(Date.parse('2026-01-01T12:00:00.000Z'));
  const runs = cosmosRunStore(cosmos.containers.runs);
  const started: { orchestrator: string; instanceId: string; input: unknown }[] = [];
  const api = opsApi({
    container: cosmos.containers.invoices,
    job: aJob({ '0': 1, '1': 1 }).job,
    runs,
    clock,
    shards: 4,
    audit: cosmosAudit(cosmos.containers.audit, clock),
    healthChecks: [],
    deadLetters: [],
  });
  return {
    cosmos,
    clock,
    runs,
    api,
    started,
    orchestrations: {
      async getStatus(instanceId: string) {
        if (!started.some((one) => one.instanceId === instanceId)) throw new Error('no such instance');
      },
      async startNew(orchestrator: string, { instanceId, input }: { instanceId: string; input: unknown }) {
        started.push({ orchestrator, instanceId, input });
        return instanceId;
      },
    },
    async store(...invoices: Partial<Invoice>[]) {
      for (const invoice of invoices) {
        const { _etag, ...content } = anInvoice(invoice);
        await cosmos.containers.invoices.items.create(content);
      }
    },
    async audited(): Promise<Record<string, unknown>[]> {
      const { resources } = await cosmos.containers.audit.items
        .query<Record<string, unknown>>('SELECT * FROM c')
        .fetchAll();
      return resources;
    },
    [Symbol.asyncDispose]: () => cosmos[Symbol.asyncDispose](),
  };
}

export type OpsForTests = Awaited<ReturnType<typeof opsForTests>>;

/** A request as the host hands it on. A body that is text goes as it is, else as JSON. */
export function aRequest({
  method = 'GET',
  body,
  headers = {},
  query = {},
  params = {},
}: Call = {}): HttpRequest {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return new HttpRequest({
    method,
    url: 'http://localhost/api/ops/x',
    headers: { ...(typeof body === 'string' ? {} : { 'content-type': 'application/json' }), ...headers },
    query,
    params,
    ...(body === undefined ? {} : { body: { string: text } }),
  });
}

/** The body of an answer as an object; a problem's too. */
export function bodyOf(response: HttpResponseInit): unknown {
  if (typeof response.body !== 'string') return response.jsonBody;
  return JSON.parse(response.body);
}
