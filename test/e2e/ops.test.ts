import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, startChild } from '../../local/start/child.ts';
import { newOutboxMessage } from '../../packages/jobs/src/outbox/messageMoves.ts';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { systemClock as clock } from '../../packages/leases/src/clock.ts';
import { createLocks, jobLockKey } from '../../packages/leases/src/index.ts';
import { noTelemetry } from '../../packages/leases/src/telemetry.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { blobContainers, queues } from '../../src/platform/azureNames.ts';
import { databaseName } from '../../src/platform/cosmosContainers.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-ops-'));
let cloud: LocalCloud;
let host: Child | undefined;
let address = '';

beforeAll(async () => {
  cloud = await startLocalCloud();
  const envFile = join(folder, 'env');
  const settings = {
    ...settingsFor(cloud),
    INVOICE_SCHEDULE: '0 0 0 1 1 *',
    OUTBOX_SCHEDULE: '* * * * * *',
    AzureFunctionsJobHost__extensions__queues__visibilityTimeout: '00:00:01',
  };
  writeFileSync(
    envFile,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const [port = 0] = await freePorts(1);
  host = await startChild(
    'host-ops',
    [
      'packages/local-azure/src/functionsHost/main.ts',
      '--port',
      `${port}`,
      '--env-file',
      envFile,
      '--enable-auth',
    ],
    {
      env: { INSTANCE_ID: 'host-ops', FUNCTIONS_MASTER_KEY: 'test-master-key' },
      logFile: join(folder, 'host.log'),
    },
  );
  address = `http://127.0.0.1:${port}`;
}, 90_000);

afterAll(async () => {
  await host?.stop(5_000);
  await cloud[Symbol.asyncDispose]();
  await removeFolder(folder);
}, 60_000);

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${address}/api/ops/${path}`, {
    method,
    headers: { 'x-functions-key': 'test-master-key', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const invoiceUntil = (id: string, wanted: string) =>
  until(
    () => call('GET', `invoices/${id}`),
    ({ body }) => body.status === wanted,
  );

test('every call needs a key', async () => {
  const calls = ['runs', 'locks', 'outbox', 'audit'].map((path) => ['GET', path] as const);
  const changes = ['runs/x/cancel', 'locks/release', 'outbox/x/redrive', 'invoices/x/retry'];
  for (const [method, path] of [...calls, ...changes.map((path) => ['POST', path] as const)]) {
    const { status } = await fetch(`${address}/api/ops/${path}`, { method });
    expect({ path, status }).toEqual({ path, status: 401 });
  }
});

test('a run that waits for a lease is cancelled; the lease is taken from its holder', async () => {
  const key = jobLockKey('process-invoices', '0');
  const store = blobLockStore(cloud.blobs.getContainerClient(blobContainers.locks));
  const locks = createLocks(store, { clock, telemetry: noTelemetry });
  await using _lease = await locks.acquire(key, { instance: 'gone', job: 'x' }, { waitMs: 0 });

  const started = await call('POST', 'runs', { job: 'process-invoices', groups: ['0'] });
  const runId = started.body.runId as string;
  const instance = async () => {
    const headers = { 'x-functions-key': 'test-master-key' };
    const url = `${address}/runtime/webhooks/durabletask/instances/${runId}`;
    return ((await (await fetch(url, { headers })).json()) as { runtimeStatus: string }).runtimeStatus;
  };
  await until(instance, (status) => status === 'Running');
  expect((await call('GET', 'runs?status=running')).body).toMatchObject({ runs: [{ runId }] });
  const cancelled = await call('POST', `runs/${runId}/cancel`, { reason: 'wrong day' });
  expect(cancelled).toMatchObject({
    status: 200,
    body: { status: 'cancelled', reason: 'cancelled by function key: wrong day' },
  });
  expect(await until(instance, (status) => status !== 'Running')).toBe('Terminated');
  expect((await call('POST', `runs/${runId}/cancel`)).status).toBe(409);
  expect((await call('GET', `runs/${runId}`)).body).toMatchObject({ status: 'cancelled' });

  expect((await call('GET', 'locks')).body.locks).toContainEqual(
    expect.objectContaining({ key, held: true, owner: 'gone' }),
  );
  const release = { key, expectedOwner: 'somebody', reason: 'it is gone' };
  expect((await call('POST', 'locks/release', release)).status).toBe(409);
  const released = await call('POST', 'locks/release', { ...release, expectedOwner: 'gone' });
  expect(released).toMatchObject({ status: 200, body: { key, previousOwner: 'gone' } });
}, 60_000);

test('a declined invoice is tried again with the next key', { timeout: 60_000 }, async () => {
  const id = 'retry-me';
  await call('POST', 'invoices', [
    {
      id,
      customerId: 'cus_1',
      amountMinor: 1999,
      currency: 'USD',
      dueAt: '2025-01-01T00:00:00Z',
      paymentMethod: 'pm_card_chargeDeclinedExpiredCard',
    },
  ]);
  await call('POST', 'runs', { job: 'process-invoices' });
  await invoiceUntil(id, 'declined');
  const retried = await call('POST', `invoices/${id}/retry`, { reason: 'the customer asks for it' });
  expect(retried).toMatchObject({ status: 200, body: { status: 'pending', payment: { keyNumber: 2 } } });
  expect((await call('POST', `invoices/${id}/retry`)).status).toBe(409);
  await call('POST', 'runs', { job: 'process-invoices' });
  expect((await invoiceUntil(id, 'declined')).body).toMatchObject({ payment: { keyNumber: 2 } });
});

test('look-ups that the provider refuses delay no other invoice', { timeout: 60_000 }, async () => {
  const invoice = (id: string, paymentMethod: string) => {
    const due = { currency: 'USD', dueAt: '2025-01-01T00:00:00Z' };
    return call('POST', 'invoices', [{ id, customerId: 'cus_1', amountMinor: 1999, paymentMethod, ...due }]);
  };
  await invoice('unclear', 'pm_card_misspelt');
  await call('POST', 'runs', { job: 'process-invoices' });
  await invoiceUntil('unclear', 'parked');
  const count = 10;
  // Either of the two could answer the look-up alone.
  for (const operation of ['search', 'list']) {
    const fault = { kind: '400', count, filter: { operation } };
    await fetch(`${cloud.payments}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
  }
  for (let n = 0; n < count; n++) {
    // A refusal does not mean that there is no payment.
    expect((await call('POST', 'invoices/unclear/void', { reason: 'sent by mistake' })).status).toBe(503);
  }
  await invoice('good', 'pm_card_visa');
  await call('POST', 'runs', { job: 'process-invoices' });
  const { body } = await until(
    () => call('GET', 'invoices/good'),
    ({ body: { timeline } }) => (timeline as unknown[]).length > 2,
  );
  expect(body).toMatchObject({ status: 'paid', timeline: [{}, { what: 'claimed' }, { what: 'paid' }] });
});

test('a parked message is dispatched after its redrive', { timeout: 60_000 }, async () => {
  const content = { id: 'parked-1', shard: '00', destination: 'work-items' as const, body: [] };
  const { nextAttemptAt: _, ...message } = newOutboxMessage(content, clock.now());
  await cloud.cosmosClient
    .database(databaseName)
    .container('invoices')
    .items.create({ ...message, status: 'parked', attempts: 10, lastError: 'the queue was full' });
  expect((await call('GET', 'outbox?status=parked')).body).toMatchObject({
    messages: [{ id: 'parked-1', lastError: 'the queue was full' }],
    continuation: null,
  });
  expect(await call('POST', 'outbox/parked-1/redrive')).toMatchObject({
    status: 200,
    body: { status: 'pending', attempts: 0 },
  });
  const dispatched = await until(
    async () => (await call('GET', 'outbox?status=dispatched')).body.messages as { id: string }[],
    (messages) => messages.some(({ id }) => id === 'parked-1'),
  );
  expect(dispatched[0]).toMatchObject({ id: 'parked-1' });
  expect((await call('POST', 'outbox/parked-1/redrive')).status).toBe(409);
});

test('every change is in the audit trail, newest first', async () => {
  const { body } = await call('GET', 'audit');
  const records = body.records as { action: string; actor: string }[];
  expect(new Set(records.map(({ actor }) => actor))).toEqual(new Set(['function key']));
  expect(records.map(({ action }) => action)).toEqual([
    'redrive outbox message',
    'start run',
    'import invoices',
    'start run',
    'import invoices',
    'start run',
    'retry invoice',
    'start run',
    'import invoices',
    'release lock',
    'release lock',
    'cancel run',
    'start run',
  ]);
});

test('a message that is not base64 is shown among the dead letters, as its sender wrote it', async () => {
  const letters = async () => {
    const { body } = await call('GET', 'dead-letters');
    return body.deadLetters as { id: string; body: unknown; reason: string }[];
  };
  await cloud.queues.getQueueClient(queues.workItems).sendMessage('not base64!');
  // A host that cannot decode a message moves it here itself.
  const poison = cloud.queues.getQueueClient(queues.workItemsPoison);
  await poison.createIfNotExists();
  const { messageId } = await poison.sendMessage('{"resourceId": "raw');
  const shown = await until(letters, (found) => found.length >= 2, { withinMs: 45_000 });
  expect(shown).toHaveLength(2);
  const reason = 'not a work item: expected object, as base64 of JSON, got some other text';
  expect(shown).toContainEqual(expect.objectContaining({ body: 'not base64!', reason }));
  expect(shown).toContainEqual(
    expect.objectContaining({ id: `poison:${messageId}`, body: '{"resourceId": "raw', reason }),
  );
  await until(
    () => poison.getProperties(),
    ({ approximateMessagesCount }) => approximateMessagesCount === 0,
  );
}, 60_000);
