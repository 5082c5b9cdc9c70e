import { beforeEach, expect, test } from 'vitest';
import { charge, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const accountRate = 10;
const rate = 8;
const { payments, clock, stripe } = await paymentsForFile({ accountRate, rate });

const stats = `${payments.baseUrl}/_local/stats`;
beforeEach(async () => {
  await clock.advance(1000);
  await fetch(stats, { method: 'DELETE' });
});

const create = () => stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
const list = () => stripe.paymentIntents.list();
const search = () => stripe.paymentIntents.search({ query: 'amount:1' });
async function times(count: number, call: () => Promise<unknown>): Promise<void> {
  for (let made = 0; made < count; made++) await call();
}

const overAccount = {
  statusCode: 429,
  code: 'rate_limit',
  headers: { 'stripe-rate-limited-reason': 'global-rate' },
};
const overEndpoint = { statusCode: 429, headers: { 'stripe-rate-limited-reason': 'endpoint-rate' } };

test('all endpoints share the limit of the account, search included', async () => {
  await times(4, create);
  await times(3, list);
  await times(3, search);
  for (const call of [create, list, search]) expect(await refusalOf(call())).toMatchObject(overAccount);
  expect(await (await fetch(stats)).json()).toMatchObject({
    calls: 13,
    overRate: { create: 1, list: 1, search: 1, confirm: 0 },
  });
});

test('it refills at its rate', async () => {
  await times(5, create);
  await times(5, list);
  await clock.advance(200);
  await times(2, search);
  expect(await refusalOf(search())).toMatchObject(overAccount);
});

test('an endpoint keeps its own limit below it', async () => {
  await times(rate, create);
  expect(await refusalOf(create())).toMatchObject(overEndpoint);
  await list();
});

test('a call that its endpoint refuses counts against the account, as any call does', async () => {
  await times(rate, create);
  expect(await refusalOf(create())).toMatchObject(overEndpoint);
  expect(await refusalOf(create())).toMatchObject(overEndpoint);
  expect(await refusalOf(list())).toMatchObject(overAccount);
});

test('a call that the account refuses takes nothing from its endpoint', async () => {
  await times(7, create);
  await times(3, list);
  expect(await refusalOf(create())).toMatchObject(overAccount);
  // A tenth of a second gives the account one token and the endpoint eight tenths: with the one it had left, one.
  await clock.advance(100);
  await create();
});
