// Events outside our own calls, on a real host: payments that somebody else makes, answers and orders that are lost.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Stripe from 'stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, startChild } from '../../local/start/child.ts';
import type { Charge } from '../../local/stripe/index.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { queues } from '../../src/platform/azureNames.ts';
import { databaseName } from '../../src/platform/cosmosContainers.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-money-'));
const shards = 4;
let cloud: LocalCloud;
let host: Child | undefined;
let stripe: Stripe;
let address = '';

beforeAll(async () => {
  cloud = await startLocalCloud();
  const settings: Record<string, string> = {
    ...settingsFor(cloud),
    SHARDS: String(shards),
    INVOICE_SCHEDULE: '0 0 0 1 1 *',
    OUTBOX_SCHEDULE: '* * * * * *',
    CLAIM_STALE_SECONDS: '5',
    AzureFunctionsJobHost__extensions__queues__visibilityTimeout: '00:00:01',
  };
  const envFile = join(folder, 'env');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(envFile, lines.join(''));
  const [port = 0] = await freePorts(1);
  host = await startChild(
    'host',
    ['packages/local-azure/src/functionsHost/main.ts', '--port', `${port}`, '--env-file', envFile],
    {
      env: { INSTANCE_ID: 'host' },
      logFile: join(folder, 'host.log'),
    },
  );
  address = `http://127.0.0.1:${port}/api/ops`;
  stripe = stripeClient({
    secretKey: settings.STRIPE_SECRET_KEY ?? '',
    apiBase: cloud.payments,
    timeoutMs: 10_000,
  });
}, 90_000);

afterAll(async () => {
  await host?.stop(5_000);
  await cloud[Symbol.asyncDispose]();
  await removeFolder(folder);
}, 60_000);

type Json = Record<string, unknown>;

async function call(method: 'GET' | 'POST', path: string, body?: unknown, key: string = crypto.randomUUID()) {
  const response = await fetch(`${address}/${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

const due = '2025-01-01T00:00:00Z';
const never = '2099-01-01T00:00:00Z';
const customerId = 'cus_1';
const amountMinor = 1_000;

const imported = (id: string, dueAt: string) =>
  call('POST', 'invoices', [
    { id, customerId, amountMinor, currency: 'USD', dueAt, paymentMethod: 'pm_card_visa' },
  ]);
const pay = () => call('POST', 'runs', { job: 'process-invoices' });
const shows = (id: string, wanted: (invoice: Json) => boolean) =>
  until(async () => (await call('GET', `invoices/${id}`)).body, wanted, { withinMs: 40_000 });
const isNow = (id: string, status: string) => shows(id, (invoice) => invoice.status === status);

/** A payment that names an invoice, and that the app did not make. */
const paidElsewhere = (invoiceId: string, metadata: Record<string, string> = {}) =>
  stripe.paymentIntents.create({
    amount: amountMinor,
    currency: 'usd',
    customer: customerId,
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    off_session: true,
    confirm: true,
    metadata: { invoiceId, ...metadata },
  });

async function charges(id: string): Promise<Charge[]> {
  const all = (await (await fetch(`${cloud.payments}/_local/charges`)).json()) as Charge[];
  return all.filter(({ invoiceId }) => invoiceId === id);
}

test('voided invoices that somebody has paid: retried as their reasons say, they are recorded, and charged by none', async () => {
  const ids = ['by-hand-1', 'by-hand-2', 'by-hand-3'];
  for (const id of ids) {
    await imported(id, never);
    await call('POST', `invoices/${id}/void`, { reason: 'paid in cash' });
    await paidElsewhere(id);
    expect((await isNow(id, 'parked')).reason).toMatch(/retry the invoice to record it/);
  }
  const bulk = await call('POST', 'bulk', {
    action: 'retry',
    filter: { status: 'parked' },
    reason: 'after an outage',
  });
  const run = await until(
    async () => (await call('GET', `runs/${bulk.body.runId as string}`)).body,
    ({ status }) => status === 'completed',
    { withinMs: 40_000 },
  );
  expect(run).toMatchObject({ counts: { retried: 0, namesPayment: 3 } });
  for (const id of ids) {
    expect(await call('POST', `invoices/${id}/retry`)).toMatchObject({ status: 409 });
    expect(await isNow(id, 'paid')).toMatchObject({ status: 'paid' });
    expect(await charges(id)).toHaveLength(1);
  }
}, 120_000);

test('a payment of another deployment pays nothing here, and is neither refunded nor canceled', async () => {
  await imported('2026-0001', never);
  const { id: foreign } = await paidElsewhere('2026-0001', { deployment: 'other-brand' });
  const named = (invoice: Json) => JSON.stringify(invoice.timeline).includes(foreign);
  expect(await shows('2026-0001', named)).toMatchObject({ status: 'pending' });
  await fetch(`${address}/invoices/2026-0001`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ dueAt: due }),
  });
  await pay();
  const { payment } = await isNow('2026-0001', 'paid');
  expect((payment as Json).id).not.toBe(foreign);
  await call('POST', 'invoices/2026-0001/refund', { reason: 'returned' });
  await shows('2026-0001', ({ reversals }) => JSON.stringify(reversals).includes('succeeded'));
  expect((await stripe.refunds.list({ payment_intent: foreign })).data).toEqual([]);
}, 120_000);

test('a charge whose answer is lost, and of which some is refunded before the retry: paid, with its refund', async () => {
  await imported('partly', due);
  const fault = { kind: 'reset-after', count: 1, filter: { invoiceId: 'partly' } };
  await fetch(`${cloud.payments}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
  await pay();
  const [charge] = await until(
    () => charges('partly'),
    (rows) => rows.length > 0,
  );
  await stripe.refunds.create({ charge: charge?.id ?? '', amount: 300 });
  // Its next try is due in a few seconds, unless the list of events tells first.
  const isDue = ({ status, actionableAt }: Json) =>
    status === 'paid' || (status === 'pending' && Date.parse(actionableAt as string) <= Date.now());
  await shows('partly', isDue);
  await pay();
  const paid = await shows('partly', ({ reversals }) => reversals !== null);
  expect(paid).toMatchObject({ reversals: { refundedMinor: 300 } });
  expect(await charges('partly')).toHaveLength(1);
}, 120_000);

test('a second payment and its dispute are recorded and reported', async () => {
  await imported('twice', due);
  await pay();
  await isNow('twice', 'paid');
  const { id: second } = await paidElsewhere('twice');
  await shows('twice', ({ reversals }) => JSON.stringify(reversals).includes(second));
  await fetch(`${cloud.payments}/_local/disputes`, {
    method: 'POST',
    body: JSON.stringify({ paymentIntent: second }),
  });
  const disputed = await shows('twice', ({ reversals }) => JSON.stringify(reversals).includes('du_'));
  expect(disputed).toMatchObject({
    reversals: { payments: [{ id: second }], disputes: [{ paymentId: second, status: 'open' }] },
  });
  const day = new Date().toISOString().slice(0, 10);
  const { body: report } = await call('GET', `report?from=${day}&to=${day}&currency=USD`);
  expect(report).toMatchObject({ totals: [{ disputed: { count: 1, amountMinor } }] });
  expect((await call('GET', 'overview')).body.attention).toContainEqual(
    expect.objectContaining({ code: 'disputes' }),
  );
}, 120_000);

test('a refund whose order is lost with its queue is made all the same, once', async () => {
  const id = 'lost-order';
  await imported(id, due);
  await pay();
  const { payment } = await isNow(id, 'paid');
  const { body: pause } = await call('POST', 'pause', { reason: 'a drill' });
  // Before, the process may still make the refund: it goes by its last look at the pause.
  await until(
    async () => Date.now(),
    (now) => now >= Date.parse(String(pause.holdsFrom)),
  );
  await call('POST', `invoices/${id}/refund`, { reason: 'returned', amountMinor: 400 }, 'key-of-ada');
  // The order is dispatched, then its queue is lost.
  const { outbox } = await until(
    async () => (await call('GET', 'summary')).body as { outbox: Json },
    (summary) => summary.outbox.pending === 0,
  );
  expect(outbox.parked).toBe(0);
  await cloud.queues.getQueueClient(queues.workItems).clearMessages();
  // Five minutes pass.
  const container = cloud.cosmosClient.database(databaseName).container('invoices');
  const long = new Date(Date.now() - 300_000).toISOString();
  await container.item(id, shardOf(id, shards)).patch([
    { op: 'set', path: '/reversals/refunds/0/at', value: long },
    { op: 'set', path: '/checkAt', value: long },
  ]);
  expect(await shows(id, ({ status }) => status === 'paid')).toMatchObject({
    reversals: { refunds: [{ status: 'requested', requestKey: 'key-of-ada' }] },
  });
  await call('POST', 'resume', { reason: 'the drill is over' });
  const done = await shows(id, ({ reversals }) => JSON.stringify(reversals).includes('succeeded'));
  expect(done).toMatchObject({ reversals: { refundedMinor: 400 } });
  const made = await stripe.refunds.list({ payment_intent: (payment as { id: string }).id });
  expect(made.data).toHaveLength(1);
}, 120_000);
