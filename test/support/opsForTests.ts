import { randomUUID } from 'node:crypto';
import { HttpRequest, type HttpResponseInit } from '@azure/functions';
import { BlobServiceClient } from '@azure/storage-blob';
import { inject } from 'vitest';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { cosmosOutboxStore } from '../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import { cosmosPauseStore } from '../../packages/jobs/src/rate/cosmosPaceStore.ts';
import { cosmosRunStore } from '../../packages/jobs/src/runs/cosmosRunStore.ts';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { receiptWriter } from '../../src/after/receipts.ts';
import { archiveSettled } from '../../src/archive/archiveSettled.ts';
import { blobArchive } from '../../src/archive/blobArchive.ts';
import { cosmosArchiveStore } from '../../src/archive/cosmosArchiveStore.ts';
import { customers } from '../../src/archive/customers.ts';
import { invoiceArchive, withArchive } from '../../src/archive/restoreInvoice.ts';
import { blobImportRecords } from '../../src/importing/blobImportRecords.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardsCheck } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { forEachCall } from '../../src/ops/calls.ts';
import { cosmosAudit } from '../../src/ops/cosmosAudit.ts';
import { type OpsCall, opsApi } from '../../src/ops/opsApi.ts';
import type { OpsParts } from '../../src/ops/opsParts.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { jobNames } from '../../src/platform/azureNames.ts';
import { memoryJournal } from '../memory/memoryJournal.ts';
import { memoryPaceStore } from '../memory/memoryPaceStore.ts';
import { aJob } from './aJob.ts';
import { anInstance } from './anInstance.ts';
import { anInvoice } from './anInvoice.ts';
import { correctionParts } from './correctionParts.ts';
import { payonceCosmos } from './payonceCosmos.ts';
import { putCounted } from './putCounted.ts';
import { recordedTelemetry } from './recordedTelemetry.ts';
import { restlessClock } from './restlessClock.ts';
import { virtualClock } from './virtualClock.ts';

export interface Call {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  params?: Record<string, string>;
}

interface OpsOptions {
  shardsOfDeployment?: number;
  /** Answers of the payment provider. Default: it has no payment, and nothing to cancel. */
  provider?: Partial<PaymentProvider>;
}

/** The ops API on its own Cosmos and lock container, for the job with groups 0 and 1, at 2026-01-01T12:00Z. */
export async function opsForTests({ shardsOfDeployment = 4, provider = {} }: OpsOptions = {}) {
  const cosmos = await payonceCosmos();
  const documents = cosmosDocuments(cosmos.containers.invoices);
  await shardsCheck(documents, shardsOfDeployment)();
  const clock = virtualClock(Date.parse('2026-01-01T12:00:00.000Z'));
  const runs = cosmosRunStore(cosmos.containers.runs);
  const telemetry = recordedTelemetry();
  const blobs = BlobServiceClient.fromConnectionString(inject('azurite'));
  const lockStore = blobLockStore(blobs.getContainerClient(`ops-locks-${randomUUID()}`));
  const importBlobs = blobs.getContainerClient(`ops-imports-${randomUUID()}`);
  await importBlobs.create();
  const terminated: { instanceId: string; reason: string }[] = [];
  const started: { orchestrator: string; instanceId: string; input: unknown }[] = [];
  const stored = cosmosInvoiceStore(cosmos.containers.invoices, { clock, shards: 4 });
  const archiveBlobs = blobs.getContainerClient(`ops-archive-${randomUUID()}`);
  await archiveBlobs.create();
  const ports = {
    documents,
    store: cosmosArchiveStore(cosmos.containers.invoices),
    blobs: blobArchive(archiveBlobs),
  };
  const archive = invoiceArchive({ ...ports, clock, shards: 4 });
  const invoices = withArchive(stored, archive, 'host-a');
  const instance = anInstance({ clock, telemetry });
  const journal = memoryJournal();
  /** Receipts by their names. */
  const receipts = new Map<string, string>();
  const writeReceipt = receiptWriter({ write: async (name, json) => void receipts.set(name, json) });
  const poison = { list: async () => [] };
  const parts = {
    invoices,
    account: async () => ({ mode: 'test', deployment: 'test', account: 'acct_1' }),
    environment: 'test',
    shards: 4,
    corrections: correctionParts({ invoices, provider, clock }),
    outbox: cosmosOutboxStore(cosmos.containers.invoices),
    job: aJob({ '0': 1, '1': 1 }, undefined, jobNames.payments).job,
    bulk: aJob({ invoices: 1, messages: 1 }, undefined, jobNames.bulk).job,
    runs,
    lockStore,
    pace: memoryPaceStore(),
    pauses: cosmosPauseStore(cosmos.containers.pace),
    checkShards: shardsCheck(documents, 4),
    audit: cosmosAudit(cosmos.containers.audit, clock),
    journal,
    imports: blobImportRecords(importBlobs, clock),
    archive,
    customers: customers({ ...ports, invoices: stored, poison, writeReceipt, clock, shards: 4 }),
    instance,
    healthChecks: [],
    deadLetters: [],
  };
  const api = callsOn(parts);
  /** Stores invoices as they are. */
  async function put(...invoices: readonly Invoice[]): Promise<void> {
    const documents = cosmosDocuments(cosmos.containers.invoices);
    await putCounted(documents, invoices, clock.now());
  }
  const noContainer = blobs.getContainerClient(`not-there-${randomUUID()}`);
  return {
    cosmos,
    clock,
    archivePorts: ports,
    archiveBlobs,
    receipts,
    runs,
    lockStore,
    telemetry,
    api,
    journal,
    /** The same, but imports cannot be recorded. */
    withoutImportRecords: callsOn({ ...parts, imports: blobImportRecords(noContainer, clock) }),
    started,
    terminated,
    orchestrations: {
      async getStatus(instanceId: string) {
        if (!started.some((one) => one.instanceId === instanceId)) throw new Error('no such instance');
      },
      async startNew(orchestrator: string, { instanceId, input }: { instanceId: string; input: unknown }) {
        started.push({ orchestrator, instanceId, input });
        return instanceId;
      },
      async terminate(instanceId: string, reason: string) {
        if (!started.some((one) => one.instanceId === instanceId)) throw new Error('no such instance');
        terminated.push({ instanceId, reason });
      },
    },
    store: (...invoices: Partial<Invoice>[]) => put(...invoices.map((one) => anInvoice(one))),
    put,
    /** Two ticks of the archive's timer, which move what has not changed for `keepDays`. */
    async archiveSettled(keepDays = 400) {
      const archived = { ...instance, clock: restlessClock(clock) };
      const parts = {
        ...ports,
        invoices: stored,
        poison,
        shards: 4,
        keepDays,
        instance: archived,
      };
      await archiveSettled(parts, { assertHeld() {} }, new AbortController().signal);
      clock.stall(3_600_000);
      const { copied: _, ...moved } = await archiveSettled(
        parts,
        { assertHeld() {} },
        new AbortController().signal,
      );
      return moved;
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

/** The calls, as if the platform had signed in every caller who says so, and everybody else had a key. */
function callsOn(parts: Omit<OpsParts, 'signIn'>) {
  const signedInHere = opsApi({ ...parts, signIn: 'platform' });
  const withKey = opsApi({ ...parts, signIn: 'none' });
  return forEachCall((id): OpsCall => (request, orchestrations) => {
    const api = request.headers.get('x-ms-client-principal') === null ? withKey : signedInHere;
    return api[id](request, orchestrations);
  });
}

/** The calls on some parts only, made by the holder of a key. */
export function opsWith(parts: Partial<OpsParts>) {
  const journal = memoryJournal();
  return opsApi({ signIn: 'none', instance: anInstance(), journal, ...parts } as OpsParts);
}

export type OpsForTests = Awaited<ReturnType<typeof opsForTests>>;

/** A signed-in user with these app roles, as the platform passes them. */
export function signedIn(name: string, ...roles: string[]): Record<string, string> {
  const claims = roles.map((val) => ({ typ: 'roles', val }));
  const content = { auth_typ: 'aad', name_typ: 'name', role_typ: 'roles', claims };
  return {
    'x-ms-client-principal-name': name,
    'x-ms-client-principal': Buffer.from(JSON.stringify(content)).toString('base64'),
  };
}

/** A signed-in user who may do everything. */
export const principal = signedIn('ada@example.com', 'ops.read', 'ops.write');

/** A request as the host passes it, with a JSON body. A text is sent unchanged. */
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
    headers: { 'content-type': 'application/json', ...headers },
    query,
    params,
    ...(body === undefined ? {} : { body: { string: text } }),
  });
}

/** The body of an answer, or of a problem, as an object. */
export function bodyOf(response: HttpResponseInit): unknown {
  if (typeof response.body !== 'string') return response.jsonBody;
  return JSON.parse(response.body);
}

/** Reads all pages of a list. */
export async function allPages(
  list: (request: HttpRequest) => Promise<HttpResponseInit>,
  name: string,
  query: Record<string, string> = {},
): Promise<Record<string, unknown>[][]> {
  const pages: Record<string, unknown>[][] = [];
  let continuation: string | undefined;
  do {
    const response = await list(
      aRequest({ query: { ...query, ...(continuation === undefined ? {} : { continuation }) } }),
    );
    const page = bodyOf(response) as Record<string, unknown>;
    pages.push(page[name] as Record<string, unknown>[]);
    continuation = (page.continuation as string | null) ?? undefined;
  } while (continuation !== undefined);
  return pages;
}
