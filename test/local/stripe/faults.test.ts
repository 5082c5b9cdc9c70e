import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { armFault, charge, chargesOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const { payments, stripe } = await paymentsForFile();
/** Client timeout for calls that get no response, in milliseconds. */
const timeout = 150;

/** The stripe package retries a call once, immediately, if its connection was reset. */
const resetRetries = 1;

const reaction = {
  'timeout-before': { type: 'StripeConnectionError' },
  'timeout-after': { type: 'StripeConnectionError' },
  'reset-before': { type: 'StripeConnectionError' },
  'reset-after': { type: 'StripeConnectionError' },
  '500': { type: 'StripeAPIError', statusCode: 500 },
  '400': { type: 'StripeInvalidRequestError', statusCode: 400 },
  '429': {
    type: 'StripeRateLimitError',
    statusCode: 429,
    code: 'rate_limit',
    headers: { 'retry-after': '1' },
  },
} as const;
type Kind = keyof typeof reaction;
const charged = (kind: Kind) => (kind.endsWith('-after') ? 1 : 0);

describe('an armed fault', () => {
  test.each(Object.keys(reaction) as Kind[])('%s, then a retry with the same key succeeds', async (kind) => {
    const invoiceId = newInvoiceId();
    const count = kind.startsWith('reset') ? 1 + resetRetries : 1;
    expect((await armFault(payments, { kind, count, filter: { invoiceId } })).status).toBe(201);
    const call = (options: Stripe.RequestOptions) =>
      stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: invoiceId, ...options });
    expect(await refusalOf(call({ timeout }))).toMatchObject(reaction[kind]);
    await expect.poll(() => chargesOf(payments, invoiceId)).toHaveLength(charged(kind));
    const again = await call({});
    expect(again.status).toBe('succeeded');
    expect(await chargesOf(payments, invoiceId)).toMatchObject([{ paymentIntent: again.id }]);
  });

  test('decline declines a valid card', async () => {
    const invoiceId = newInvoiceId();
    await armFault(payments, { kind: 'decline', filter: { invoiceId } });
    const refusal = await refusalOf(stripe.paymentIntents.create(charge({ invoiceId })));
    expect(refusal).toMatchObject({ statusCode: 402, decline_code: 'generic_decline' });
  });

  test('hits only its operation, up to its count', async () => {
    await armFault(payments, { kind: '429', count: 2, filter: { operation: 'search' } });
    expect((await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }))).status).toBe(
      'succeeded',
    );
    const search = () => stripe.paymentIntents.search({ query: "status:'succeeded'" });
    for (let n = 0; n < 2; n++) expect(await refusalOf(search())).toMatchObject({ statusCode: 429 });
    expect((await search()).data).toEqual([]);
  });

  test('is listed with its hits, and can be cleared', async () => {
    const faults = `${payments.baseUrl}/_local/faults`;
    await fetch(faults, { method: 'DELETE' });
    await armFault(payments, { kind: '500', count: 2 });
    await refusalOf(stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() })));
    expect(await (await fetch(faults)).json()).toMatchObject([{ kind: '500', count: 2, hits: 1 }]);
    expect((await fetch(faults, { method: 'DELETE' })).status).toBe(204);
    expect(await (await fetch(faults)).json()).toEqual([]);
    expect((await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }))).status).toBe(
      'succeeded',
    );
  });

  test.each([
    [{ kind: 'earthquake' }],
    [{ kind: '500', count: 0 }],
    [{ kind: '500', filter: { invoice: 'x' } }],
  ])('%j is refused', async (fault) => {
    expect((await armFault(payments, fault)).status).toBe(400);
  });
});

describe('a payment method that fails', () => {
  test.each([
    ['pm_local_timeoutBeforeChargeOnce', 'timeout-before', 1],
    ['pm_local_timeoutAfterChargeOnce', 'timeout-after', 1],
    ['pm_local_timeoutAfterChargeTwice', 'timeout-after', 2],
    ['pm_local_resetBeforeChargeTwice', 'reset-before', 1],
    ['pm_local_resetAfterChargeTwice', 'reset-after', 1],
    ['pm_local_serverErrorTwice', '500', 2],
    ['pm_local_rateLimitOnce', '429', 1],
  ] as const)('%s: %s, %i times, then succeeds', async (payment_method, kind, times) => {
    const invoiceId = newInvoiceId();
    const call = (options: Stripe.RequestOptions) =>
      stripe.paymentIntents.create(charge({ invoiceId, payment_method }), {
        idempotencyKey: invoiceId,
        ...options,
      });
    for (let n = 0; n < times; n++) {
      expect(await refusalOf(call({ timeout }))).toMatchObject(reaction[kind]);
      await expect.poll(() => chargesOf(payments, invoiceId)).toHaveLength(charged(kind));
    }
    expect((await call({})).status).toBe('succeeded');
    expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  });

  test('without a suffix fails every call, replayed ones included', async () => {
    const invoiceId = newInvoiceId();
    const parameters = charge({ invoiceId, payment_method: 'pm_local_timeoutAfterCharge' });
    for (let n = 0; n < 3; n++) {
      const call = stripe.paymentIntents.create(parameters, { idempotencyKey: invoiceId, timeout });
      expect(await refusalOf(call)).toBeInstanceOf(Stripe.errors.StripeConnectionError);
    }
    expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  });
});

test('calls are counted by operation', async () => {
  const stats = `${payments.baseUrl}/_local/stats`;
  await fetch(stats, { method: 'DELETE' });
  const invoiceId = newInvoiceId();
  for (let n = 0; n < 2; n++)
    await stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: 'counted' });
  await stripe.paymentIntents.search({ query: "status:'succeeded'" });
  expect(await (await fetch(stats)).json()).toMatchObject({
    calls: 3,
    byOperation: { create: 2, search: 1, retrieve: 0 },
    replays: 1,
  });
});
