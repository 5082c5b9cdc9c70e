import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Stripe from 'stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../../local/start/child.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-events-'));
const never = '0 0 0 1 1 *';
const secret = 'whsec_endToEndSecret00000';
const masterKey = 'test-master-key';

let cloud: LocalCloud;
beforeAll(async () => {
  cloud = await startLocalCloud();
}, 90_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await removeFolder(folder);
}, 60_000);

/** A host that asks for function keys. */
async function startHost(name: string, settings: Record<string, string>) {
  const envFile = join(folder, `${name}.env`);
  const all = { ...settingsFor(cloud), INVOICE_SCHEDULE: never, ...settings };
  const lines = Object.entries(all).map(([key, value]) => `${key}=${value}\n`);
  writeFileSync(envFile, lines.join(''));
  const [port = 0] = await freePorts(1);
  const host = await startChild(
    name,
    [
      'packages/local-azure/src/functionsHost/main.ts',
      '--port',
      `${port}`,
      '--env-file',
      envFile,
      '--enable-auth',
    ],
    {
      env: { INSTANCE_ID: name, FUNCTIONS_MASTER_KEY: masterKey },
      logFile: join(folder, `${name}.log`),
    },
  );
  return { address: `http://127.0.0.1:${port}/api`, [Symbol.asyncDispose]: () => host.stop(5_000) };
}

async function ops(address: string, path: string, body?: unknown): Promise<{ status?: string }> {
  const headers = {
    'x-functions-key': masterKey,
    'content-type': 'application/json',
    'idempotency-key': `${path}-${Math.random()}`,
  };
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return (await (await fetch(`${address}/ops/${path}`, { headers, ...init })).json()) as { status?: string };
}

const local = (path: string, body: unknown) =>
  fetch(`${cloud.payments}/_local/${path}`, { method: 'POST', body: JSON.stringify(body) });

/** Imports a bank debit, has it charged, and lets the bank take its days: the app's own clock stays where it is. */
async function debit(address: string, id: string): Promise<void> {
  const invoice = { id, customerId: 'cus_1', amountMinor: 1_999, currency: 'USD' };
  const dueAt = '2026-01-01T00:00:00Z';
  await ops(address, 'invoices', [{ ...invoice, dueAt, paymentMethod: 'pm_usBankAccount_success' }]);
  await ops(address, 'runs', { job: 'process-invoices' });
  const isNow = (wanted: string, withinMs: number) =>
    until(
      () => ops(address, `invoices/${id}`),
      ({ status }) => status === wanted,
      { withinMs },
    );
  await isNow('processing', 60_000);
  await local('clock', { advanceMs: 5 * 86_400_000 });
  // Its first check is a minute after the charge.
  await isNow('paid', 45_000);
}

test('Stripe tells of the end of a debit, without a key: its signature is enough', async () => {
  await using host = await startHost('host-webhook', {
    OUTBOX_SCHEDULE: never,
    STRIPE_WEBHOOK_SECRETS: secret,
  });
  const url = `${host.address}/payments/events`;
  await local('webhook', { url, secret });
  await debit(host.address, 'told');

  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers }).then(({ status }) => status);
  const payload = '{"id":"evt_1","object":"event","type":"customer.updated"}';
  const signed = Stripe.webhooks.generateTestHeaderString({ payload, secret });
  expect(await post(payload, { 'stripe-signature': signed })).toBe(200);
  expect(await post(payload)).toBe(400);
  expect(await post(`${payload} `, { 'stripe-signature': signed })).toBe(400);
  await fetch(`${cloud.payments}/_local/webhook`, { method: 'DELETE' });
}, 150_000);

test('without a webhook the list of events tells, and the route is not there', async () => {
  await using host = await startHost('host-list', { OUTBOX_SCHEDULE: '*/2 * * * * *' });
  await debit(host.address, 'listed');
  expect((await fetch(`${host.address}/payments/events`, { method: 'POST', body: '{}' })).status).toBe(404);
}, 150_000);
