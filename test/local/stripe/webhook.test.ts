import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Stripe from 'stripe';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { startPayments } from '../../../local/stripe/index.ts';
import { removeFolder } from '../../support/removeFolder.ts';
import { runProgram } from '../../support/runProgram.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { charge, clientOf, newInvoiceId, startProgram } from './paymentsForTests.ts';

const secret = 'whsec_local';
const start = Date.parse('2026-01-31T12:00:00Z');
const folder = mkdtempSync(join(tmpdir(), 'payonce-webhook-'));
afterAll(() => removeFolder(folder));

interface Received {
  event: Stripe.Event;
  /** Time for which the signature is right (Unix seconds). */
  signedAt: number;
}

/** A webhook endpoint. It answers each try with the next of `statuses`, at the end with 200. */
async function receiver(statuses: number[] = []) {
  const received: Received[] = [];
  let tries = 0;
  const listener: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const status = statuses[tries] ?? 200;
      tries += 1;
      const signature = String(request.headers['stripe-signature']);
      const signedAt = Number(/t=(\d+)/.exec(signature)?.[1]);
      const event = Stripe.webhooks.constructEvent(body, signature, secret, 300, undefined, signedAt);
      if (status === 200) received.push({ event, signedAt });
      response.writeHead(status).end();
    });
  };
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/events`,
    received,
    tries: () => tries,
    types: () => received.map(({ event }) => event.type as string).toSorted(),
  };
}

const paidTypes = ['charge.succeeded', 'payment_intent.created', 'payment_intent.succeeded'];
/** Longer than a delivery takes on a busy machine. */
const patient = { timeout: 20_000 };

test('delivers each event, signed, and counts it as delivered', async () => {
  const { url, received, types } = await receiver();
  const clock = virtualClock(start);
  await using payments = await startPayments({ clock, webhook: { url, secret } });
  const stripe = clientOf(payments);
  const paid = await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  await expect.poll(types, patient).toEqual(paidTypes);
  const succeeded = received.find(({ event }) => event.type === 'payment_intent.succeeded');
  expect(succeeded).toMatchObject({
    signedAt: start / 1000,
    event: { pending_webhooks: 1, data: { object: { id: paid.id, status: 'succeeded' } } },
  });
  await expect
    .poll(async () => (await stripe.events.list()).data.map(({ pending_webhooks }) => pending_webhooks))
    .toEqual([0, 0, 0]);
});

test('tries again on anything but 2xx, and waits longer each time', async () => {
  const { url, types, tries } = await receiver([500, 302, 404]);
  const clock = virtualClock(start);
  await using payments = await startPayments({ clock, webhook: { url, secret } });
  const stripe = clientOf(payments);
  await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
  for (const [done, delayMs] of [1000, 2000, 4000].entries()) {
    await expect.poll(tries, patient).toBe(done + 1);
    await expect.poll(() => clock.sleepers(), patient).toBe(1);
    const [event] = (await stripe.events.list()).data;
    expect(event?.pending_webhooks).toBe(1);
    await clock.advance(delayMs - 1);
    expect(tries()).toBe(done + 1);
    await clock.advance(1);
  }
  await expect.poll(types, patient).toEqual(['payment_intent.created']);
  expect(tries()).toBe(4);
  await expect.poll(async () => (await stripe.events.list()).data[0]?.pending_webhooks, patient).toBe(0);
});

test('gives up after three days', async () => {
  const { url, tries } = await receiver(Array.from({ length: 2000 }, () => 503));
  const clock = virtualClock(start);
  await using payments = await startPayments({ clock, webhook: { url, secret } });
  const stripe = clientOf(payments);
  await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
  await expect.poll(tries, patient).toBe(1);
  await expect.poll(() => clock.sleepers(), patient).toBe(1);
  clock.stall(3 * 24 * 3600 * 1000);
  await clock.advance(1);
  await expect.poll(tries, patient).toBe(2);
  await expect.poll(async () => (await stripe.events.list()).data[0]?.pending_webhooks, patient).toBe(0);
  expect(clock.sleepers()).toBe(0);
});

test('a receiver that does not answer holds nothing up, and stopping is clean', async () => {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const clock = virtualClock(start);
  const payments = await startPayments({ clock, webhook: { url: `http://127.0.0.1:${port}`, secret } });
  const stripe = clientOf(payments);
  for (let n = 0; n < 20; n++) await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  expect((await stripe.paymentIntents.list()).data).toHaveLength(10);
  await payments.stop();
});

test('the target can be set while it runs, and survives a restart with what is not delivered', async () => {
  const data = join(folder, 'set');
  const dead = await receiver(Array.from({ length: 100 }, () => 500));
  const clock = virtualClock(start);
  const first = await startPayments({ clock, data });
  const local = (base: string) => `${base}/_local/webhook`;
  await clientOf(first).paymentIntents.create({ amount: 1, currency: 'eur' });
  const set = (base: string, body: unknown) =>
    fetch(local(base), { method: 'POST', body: JSON.stringify(body) });
  expect((await set(first.baseUrl, { url: dead.url, secret })).status).toBe(200);
  expect((await set(first.baseUrl, { url: 'nowhere', secret })).status).toBe(400);
  expect(await (await fetch(local(first.baseUrl))).json()).toEqual({ url: dead.url, secret });
  await clientOf(first).paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  await expect.poll(dead.tries, patient).toBe(3);
  await first.stop();

  const { url, types } = await receiver();
  clock.stall(60_000);
  await using second = await startPayments({ clock, data, webhook: { url, secret } });
  await expect.poll(types, patient).toEqual(paidTypes);
  expect((await fetch(local(second.baseUrl), { method: 'DELETE' })).status).toBe(204);
  expect(await (await fetch(local(second.baseUrl))).json()).toBeNull();
  await clientOf(second).paymentIntents.create({ amount: 2, currency: 'eur' });
  const [event] = (await clientOf(second).events.list()).data;
  expect(event?.pending_webhooks).toBe(0);
});

test('as a program it takes the options', async () => {
  const { url, types } = await receiver();
  const { stripe } = await startProgram('--webhook-url', url, '--webhook-secret', secret);
  await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  await expect.poll(types, patient).toEqual(paidTypes);
});

test.each([
  [['--webhook-url=http://127.0.0.1:1/']],
  [['--webhook-secret=whsec_1']],
  [['--webhook-url=nowhere', '--webhook-secret=whsec_1']],
])('as a program it refuses %j', async (options) => {
  const { code, output } = await runProgram('local/stripe/main.ts', options);
  expect(output).toBe('--webhook-url and --webhook-secret: expected a URL and its secret, both or neither\n');
  expect(code).toBe(2);
});
