import Stripe from 'stripe';
import { beforeEach, expect, test } from 'vitest';
import { armFault, charge, chargesOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const rate = 25;
const searchRate = 2;
const { payments, clock, stripe } = await paymentsForFile({ rate, searchRate });
const unlimited = await paymentsForFile();

const stats = `${payments.baseUrl}/_local/stats`;
beforeEach(async () => {
  await clock.advance(1000);
  await fetch(stats, { method: 'DELETE' });
});

const create = (invoiceId = newInvoiceId(), options: Stripe.RequestOptions = {}) =>
  stripe.paymentIntents.create(charge({ invoiceId }), options);
const search = () => stripe.paymentIntents.search({ query: "status:'succeeded'" });
const times = (count: number, call: () => Promise<unknown>) =>
  Promise.allSettled(Array.from({ length: count }, call));
const reasonsOf = (results: PromiseSettledResult<unknown>[]) =>
  results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));

test('of 26 calls at once, one is refused the way Stripe does', async () => {
  const reasons = reasonsOf(await times(rate + 1, () => create()));
  expect(reasons).toHaveLength(1);
  const [refusal] = reasons;
  expect(refusal).toBeInstanceOf(Stripe.errors.StripeRateLimitError);
  expect(refusal).toMatchObject({
    statusCode: 429,
    code: 'rate_limit',
    rawType: 'invalid_request_error',
    headers: { 'stripe-rate-limited-reason': 'endpoint-rate' },
  });
  expect((refusal as Stripe.errors.StripeRateLimitError).headers).not.toHaveProperty('retry-after');
  expect(await (await fetch(stats)).json()).toMatchObject({
    byOperation: { create: rate + 1 },
    overRate: { create: 1, confirm: 0, cancel: 0, retrieve: 0, search: 0, list: 0 },
  });
});

test('the bucket refills at the rate', async () => {
  await times(rate, () => create());
  await clock.advance(200);
  expect(reasonsOf(await times(rate, () => create()))).toHaveLength(rate - 5);
  await clock.advance(1000);
  expect(reasonsOf(await times(rate, () => create()))).toEqual([]);
});

test('each endpoint has its own limit, whatever the id', async () => {
  const paid = await create();
  const open = await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
  await times(rate, () => create());
  expect(await refusalOf(create())).toMatchObject({ statusCode: 429 });
  expect((await stripe.paymentIntents.list()).data).not.toEqual([]);
  expect((await stripe.paymentIntents.cancel(open.id)).status).toBe('canceled');
  expect(reasonsOf(await times(rate - 1, () => stripe.paymentIntents.retrieve(paid.id)))).toEqual([]);
  expect((await stripe.paymentIntents.retrieve(open.id)).status).toBe('canceled');
  expect(await refusalOf(stripe.paymentIntents.retrieve(open.id))).toMatchObject({ statusCode: 429 });
});

test('search has its own rate', async () => {
  expect(reasonsOf(await times(searchRate + 1, search))).toMatchObject([{ statusCode: 429 }]);
  await clock.advance(1000 / searchRate);
  expect(reasonsOf(await times(2, search))).toMatchObject([{ statusCode: 429 }]);
  expect((await create()).status).toBe('succeeded');
});

test('a refused call moves no money and leaves its key unused: repeated, it charges', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'refused-by-rate' };
  await times(rate, () => create());
  expect(await refusalOf(create(invoiceId, options))).toMatchObject({ statusCode: 429 });
  expect(await chargesOf(payments, invoiceId)).toEqual([]);
  await clock.advance(1000 / rate);
  const { id, status, lastResponse } = await create(invoiceId, options);
  expect(status).toBe('succeeded');
  expect(lastResponse.headers['idempotent-replayed']).toBeUndefined();
  expect(await chargesOf(payments, invoiceId)).toMatchObject([{ paymentIntent: id }]);
});

test('replays count against the limit too', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'replayed' };
  await create(invoiceId, options);
  await times(rate - 1, () => create());
  expect(await refusalOf(create(invoiceId, options))).toMatchObject({ statusCode: 429 });
});

test('a refused call uses up no fault, and an injected 429 does not count as over the rate', async () => {
  const invoiceId = newInvoiceId();
  await times(rate, () => create());
  await armFault(payments, { kind: '429', filter: { invoiceId } });
  expect(await refusalOf(create(invoiceId))).toMatchObject({
    headers: { 'stripe-rate-limited-reason': 'endpoint-rate' },
  });
  await clock.advance(1000);
  expect(await refusalOf(create(invoiceId))).toMatchObject({ headers: { 'retry-after': '1' } });
  expect((await create(invoiceId)).status).toBe('succeeded');
  expect(await (await fetch(stats)).json()).toMatchObject({ overRate: { create: 1 } });
});

test('without the options there is no limit', async () => {
  const calls = await times(200, () => unlimited.stripe.paymentIntents.list());
  const searches = await times(100, () => unlimited.stripe.paymentIntents.search({ query: 'amount:1' }));
  expect(reasonsOf([...calls, ...searches])).toEqual([]);
});
