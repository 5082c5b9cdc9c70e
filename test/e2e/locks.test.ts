/**
 * The app with its locks elsewhere than on blobs. Two hosts keep them in different stores, as during a change of `LOCKS`: in
 * Cosmos, and on Service Bus, which can neither list locks nor take one away.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { until } from '../support/until.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
const stack = new AsyncDisposableStack();
let cloud: LocalCloud;
let onCosmos = '';
let onServiceBus = '';

beforeAll(async () => {
  cloud = stack.use(await startLocalCloud());
  const start = async (locks: string) => {
    const env = {
      ...settingsFor(cloud),
      LOCKS: locks,
      INSTANCE_ID: `host-${locks}`,
      INVOICE_SCHEDULE: '* * * * * *',
      OUTBOX_SCHEDULE: '* * * * * *',
    };
    return stack.use(await startHostProcess({ app, env, args: ['--no-timer-singleton'] })).address;
  };
  [onCosmos, onServiceBus] = await Promise.all([start('cosmos'), start('service-bus')]);
}, 90_000);
afterAll(() => stack.disposeAsync(), 60_000);

const get = async (address: string, path: string) => {
  const response = await fetch(`${address}/api/ops/${path}`);
  return { status: response.status, body: await response.json() };
};
const post = async (address: string, path: string, body: unknown) => {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${address}/api/ops/${path}`, init);
  return { status: response.status, body: await response.json() };
};

test('instances whose locks are in different stores pay each invoice once', { timeout: 60_000 }, async () => {
  const invoices = Array.from({ length: 40 }, (_, index) => ({
    id: `locks-${index}`,
    customerId: 'cus_1',
    amountMinor: 500,
    currency: 'EUR',
    dueAt: '2025-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  }));
  expect(await post(onCosmos, 'invoices', invoices)).toMatchObject({ body: { created: invoices.length } });
  const paid = z.object({ invoices: z.object({ paid: z.number().default(0) }) });
  const summary = async () => paid.parse((await get(onServiceBus, 'summary')).body).invoices.paid;
  expect(await until(summary, (count) => count === invoices.length)).toBe(invoices.length);
  const charges = z.array(z.object({ invoiceId: z.string() }));
  const made = charges.parse(await (await fetch(`${cloud.payments}/_local/charges`)).json());
  expect(new Set(made.map(({ invoiceId }) => invoiceId)).size).toBe(invoices.length);
  expect(made).toHaveLength(invoices.length);
});

test('the locks in Cosmos are listed with their holders', async () => {
  const listed = z.object({ locks: z.array(z.object({ key: z.string(), owner: z.string().nullable() })) });
  const { locks } = listed.parse((await get(onCosmos, 'locks')).body);
  expect(locks.filter(({ key }) => key.startsWith('jobs/process-invoices/'))).toHaveLength(4);
  expect(new Set(locks.map(({ owner }) => owner))).toEqual(new Set(['host-cosmos']));
});

test('what Service Bus cannot do is said so', async () => {
  const detail = /^the store of locks that LOCKS names cannot/;
  expect(await get(onServiceBus, 'locks')).toMatchObject({
    status: 501,
    body: { detail: expect.stringMatching(detail) },
  });
  const release = { key: 'jobs/process-invoices/0', expectedOwner: 'host-service-bus', reason: 'stuck' };
  expect(await post(onServiceBus, 'locks/release', release)).toMatchObject({
    status: 501,
    body: { detail: expect.stringMatching(detail) },
  });
});

test('health asks the store of the locks', async () => {
  for (const address of [onCosmos, onServiceBus]) {
    const { status, body } = await get(address, 'health');
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('"locks"');
  }
});
