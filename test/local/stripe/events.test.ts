import type Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { charge, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const { clock, stripe } = await paymentsForFile();
const day = 24 * 3600 * 1000;

/** The types of the events since `call` began, oldest first. */
async function typesSince(call: () => Promise<unknown>): Promise<string[]> {
  const { data } = await stripe.events.list({ limit: 1 });
  const [last] = data;
  await call();
  const newer = await stripe.events.list({
    limit: 100,
    ...(last === undefined ? {} : { ending_before: last.id }),
  });
  return newer.data.map(({ type }) => type as string).toReversed();
}
const pay = (parameters: Partial<Stripe.PaymentIntentCreateParams> = {}) =>
  stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId(), ...parameters }));
const debit = (payment_method: string) =>
  pay({ payment_method, allowed_payment_method_types: ['us_bank_account'] });

describe('each change writes its events', () => {
  test.each([
    [
      'a card that pays',
      () => pay(),
      ['payment_intent.created', 'charge.succeeded', 'payment_intent.succeeded'],
    ],
    [
      'a card that is declined',
      () => refusalOf(pay({ payment_method: 'pm_card_chargeDeclined' })),
      ['payment_intent.created', 'charge.failed', 'payment_intent.payment_failed'],
    ],
    [
      'a customer who must act',
      () => pay({ payment_method: 'pm_card_threeDSecure2Required', off_session: false }),
      ['payment_intent.created', 'payment_intent.requires_action'],
    ],
    [
      'a debit that pays',
      async () => {
        await debit('pm_usBankAccount_success');
        await clock.advance(4 * day);
      },
      [
        'payment_intent.created',
        'payment_intent.processing',
        'charge.pending',
        'charge.succeeded',
        'payment_intent.succeeded',
      ],
    ],
    [
      'a debit that fails',
      async () => {
        await debit('pm_usBankAccount_accountClosed');
        await clock.advance(4 * day);
      },
      [
        'payment_intent.created',
        'payment_intent.processing',
        'charge.pending',
        'charge.failed',
        'payment_intent.payment_failed',
      ],
    ],
    [
      'a canceled intent',
      async () => {
        const { id } = await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
        await stripe.paymentIntents.cancel(id);
      },
      ['payment_intent.created', 'payment_intent.canceled'],
    ],
  ])('%s', async (_, call: () => Promise<unknown>, types) => {
    expect(await typesSince(call)).toEqual(types);
  });

  test.each([
    ['pm_card_visa', ['charge.refunded', 'refund.created']],
    ['pm_card_pendingRefund', ['charge.refunded', 'refund.created', 'refund.updated']],
    ['pm_card_refundFail', ['charge.refunded', 'refund.created', 'refund.failed']],
  ])('a refund of %s', async (payment_method, types) => {
    const { id: payment_intent } = await pay({ payment_method });
    const refund = async () => {
      await stripe.refunds.create({ payment_intent, amount: 100 });
      await clock.advance(day);
    };
    expect(await typesSince(refund)).toEqual(types);
  });

  test('a call that is refused writes none', async () => {
    expect(await typesSince(() => refusalOf(pay({ payment_method: 'pm_nobody' })))).toEqual([]);
    expect(await typesSince(() => stripe.customers.create({}))).toEqual([]);
  });
});

test('an event is a snapshot, with the request that caused it', async () => {
  const paid = await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }), {
    idempotencyKey: 'event-key',
  });
  const { data } = await stripe.events.list({ type: 'payment_intent.succeeded', limit: 1 });
  const [event] = data;
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_/),
    object: 'event',
    api_version: '2026-10-28.endive',
    created: Math.floor(clock.now() / 1000),
    data: { object: JSON.parse(JSON.stringify(paid)) as unknown },
    livemode: false,
    pending_webhooks: 0,
    request: { id: paid.lastResponse.requestId, idempotency_key: 'event-key' },
    type: 'payment_intent.succeeded',
  });
  await stripe.refunds.create({ payment_intent: paid.id });
  expect(await stripe.events.retrieve(String(event?.id))).toEqual(event);
});

test('an event that time causes names no request, and the time it happened', async () => {
  const { id } = await debit('pm_usBankAccount_success');
  const began = Math.floor(clock.now() / 1000);
  await clock.advance(10 * day);
  const { data } = await stripe.events.list({ type: 'payment_intent.succeeded', limit: 1 });
  expect(data).toMatchObject([
    {
      created: began + (4 * day) / 1000,
      data: { object: { id, status: 'succeeded' } },
      request: { id: null, idempotency_key: null },
    },
  ]);
});

describe('the list', () => {
  test('is in pages, newest first, forwards and backwards', async () => {
    const since = Math.floor(clock.now() / 1000) + 1;
    await clock.advance(1000);
    for (let n = 0; n < 3; n++) await pay();
    const { data: all } = await stripe.events.list({ created: { gte: since }, limit: 100 });
    const ids = all.map(({ id }) => id);
    expect(ids).toHaveLength(9);
    expect(all[0]?.type).toBe('payment_intent.succeeded');
    expect(all.at(-1)?.type).toBe('payment_intent.created');

    const first = await stripe.events.list({ created: { gte: since }, limit: 4 });
    expect([first.data.map(({ id }) => id), first.has_more]).toEqual([ids.slice(0, 4), true]);
    const rest = await stripe.events.list({
      starting_after: String(ids[3]),
      limit: 5,
      created: { gte: since },
    });
    expect([rest.data.map(({ id }) => id), rest.has_more]).toEqual([ids.slice(4), false]);
    const newer = await stripe.events.list({ ending_before: String(ids[5]), limit: 2 });
    expect([newer.data.map(({ id }) => id), newer.has_more]).toEqual([ids.slice(3, 5), true]);
    const listed: string[] = [];
    for await (const { id } of stripe.events.list({ created: { gte: since }, limit: 2 })) listed.push(id);
    expect(listed).toEqual(ids);
  });

  test('can be limited to types and to a time', async () => {
    await clock.advance(1000);
    const at = Math.floor(clock.now() / 1000);
    await pay();
    await clock.advance(1000);
    await pay();
    const types = async (parameters: Stripe.EventListParams) =>
      (await stripe.events.list(parameters)).data.map(({ type, created }) => [type, created - at]);
    const created = { gte: at };
    expect(await types({ created, type: 'charge.succeeded' })).toEqual([
      ['charge.succeeded', 1],
      ['charge.succeeded', 0],
    ]);
    expect(await types({ created, types: ['charge.succeeded', 'payment_intent.created'] })).toHaveLength(4);
    expect(await types({ created: { gt: at }, type: 'charge.succeeded' })).toEqual([['charge.succeeded', 1]]);
    expect(await types({ created: { gte: at, lt: at + 1 } })).toHaveLength(3);
    expect(await types({ created: { gt: at - 1, lte: at } })).toHaveLength(3);
  });

  test('refuses what Stripe refuses', async () => {
    expect(await refusalOf(stripe.events.list({ limit: 101 }))).toMatchObject({ param: 'limit' });
    expect(await refusalOf(stripe.events.list({ starting_after: 'evt_none' }))).toMatchObject({
      code: 'resource_missing',
      param: 'starting_after',
    });
    expect(await refusalOf(stripe.events.retrieve('evt_none'))).toMatchObject({ statusCode: 404 });
  });

  test('goes back 30 days', async () => {
    await clock.advance(31 * day);
    await pay();
    await clock.advance(30 * day - 1000);
    const { data } = await stripe.events.list();
    expect(data).toHaveLength(3);
    const [event] = data;
    await clock.advance(2000);
    expect((await stripe.events.list()).data).toEqual([]);
    expect(await refusalOf(stripe.events.retrieve(String(event?.id)))).toMatchObject({ statusCode: 404 });
  });
});
