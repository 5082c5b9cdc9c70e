// Refunds whose orders are lost, and what the provider says of refunds and disputes when no event comes.
import type Stripe from 'stripe';
import { beforeEach, describe, expect, test } from 'vitest';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { refundInvoice, settleRefund } from '../../src/after/refundInvoice.ts';
import { refundStage } from '../../src/after/refundStage.ts';
import { trackPayment } from '../../src/after/trackPayment.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { day, longPayments } from '../support/longPayments.ts';
import { isFull } from '../support/onlyInFull.ts';
import { minute } from '../support/payingWorld.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
let stripe: Stripe;
beforeEach(async () => {
  app = await longPayments({ searchLagMs: 0 });
  const { secretKey, baseUrl: apiBase } = app.payments;
  stripe = stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
  return () => app[Symbol.asyncDispose]();
});

/** A paid invoice, and what people do about its refunds. Orders are lost unless `carryOut` does them. */
async function aPaid(paymentMethod = 'pm_card_visa') {
  const invoice = await app.invoice({ paymentMethod });
  await invoice.pay();
  await app.pass(14 * day);
  const { id, amountMinor, payment } = await invoice.stored();
  const { id: paymentId = '' } = payment;
  const orders = async () => {
    const messages = await app.world.workItemMessages(invoice.shard);
    const items = messages.flatMap(({ body }) => workItemSchema.array().parse(body));
    return items.filter(({ stage }) => stage === 'refund');
  };
  return {
    ...invoice,
    amountMinor,
    orders,
    reversals: async () => (await invoice.stored()).reversals,
    request: (key: string, amount?: number) =>
      refundInvoice(app.parts, id, {
        idempotencyKey: key,
        reason: 'returned',
        by: 'ada',
        ...(amount === undefined ? {} : { amountMinor: amount }),
      }),
    async carryOut(parts = app.parts) {
      const { input, occasion } = (await orders()).at(-1) ?? {};
      const context = { resourceId: id, signal: new AbortController().signal, assertHeld() {} };
      return refundStage(parts).run(input, {
        ...context,
        ...(occasion === undefined ? {} : { occasion }),
      });
    },
    byHand: (amount: number) => stripe.refunds.create({ payment_intent: paymentId, amount }),
    made: async () => (await stripe.refunds.list({ payment_intent: paymentId })).data,
    settle: (refundId: string, providerId: string, isSame: boolean) =>
      settleRefund(app.parts, id, { refundId, providerId, isSame, reason: 'asked Bob', by: 'ada' }),
  };
}

const overdue = async () => {
  const now = new Date(app.clock.now()).toISOString();
  return (await app.world.invoices.counts(now)).overdueRefunds;
};

describe('a refund whose order is lost', () => {
  test('is ordered again after five minutes, and made once', async () => {
    const one = await aPaid();
    await one.request('k', 300);
    await app.pass(4 * minute);
    expect(await one.orders()).toHaveLength(1);
    expect(await overdue()).toBe(0);
    await app.pass(minute);
    const occasions = (await one.orders()).map(({ occasion }) => occasion);
    expect(new Set(occasions).size).toBe(2);
    expect(await overdue()).toBe(1);
    expect((await one.stored()).timeline.at(-1)).toMatchObject({ orderedAgain: expect.any(String) });
    expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
    expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
    expect(await one.made()).toHaveLength(1);
    expect(await overdue()).toBe(0);
    await app.pass(day);
    expect(await one.stored()).not.toHaveProperty('checkAt');
    expect(await one.orders()).toHaveLength(2);
  });

  test('and that was made all the same is found: it is not ordered again', async () => {
    const one = await aPaid();
    const requested = await one.request('k', 300);
    const refundId = requested.kind === 'requested' ? requested.refund.id : '';
    await stripe.refunds.create({
      payment_intent: (await one.stored()).payment.id ?? '',
      amount: 300,
      metadata: { invoiceId: one.id, refundId },
    });
    await app.pass(5 * minute);
    expect(await one.orders()).toHaveLength(1);
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, status: 'succeeded' }],
      refundedMinor: 300,
    });
  });

  test('shows the key of its request, so that it can be repeated', async () => {
    const one = await aPaid();
    await one.request('key-of-ada', 300);
    expect(await one.reversals()).toMatchObject({ refunds: [{ requestKey: 'key-of-ada' }] });
  });
});

describe('a refund that somebody has made by hand, since its order was lost', () => {
  let one: Awaited<ReturnType<typeof aPaid>>;
  let refundId: string;
  let providerId: string;
  beforeEach(async () => {
    one = await aPaid();
    const requested = await one.request('k', 300);
    refundId = requested.kind === 'requested' ? requested.refund.id : '';
    await app.clock.advance(2 * minute);
    ({ id: providerId } = await one.byHand(300));
    await app.pass(3 * minute);
  });

  test('is not ordered again: a person is asked, and the money is counted once', async () => {
    expect(await one.orders()).toHaveLength(1);
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, status: 'requested', mayBe: providerId }, { id: providerId }],
      refundedMinor: 300,
    });
    await app.pass(day);
    await one.request('k', 300);
    expect(await one.orders()).toHaveLength(1);
    expect(await overdue()).toBe(1);
    // An order that turns up after all makes nothing either.
    expect(await one.carryOut()).toEqual({ result: 'waits for a person', mayBe: providerId });
    expect(await one.made()).toHaveLength(1);
  });

  test('"this is it": there is one refund, and nothing is made', async () => {
    expect(await one.settle(refundId, providerId, true)).toMatchObject({ kind: 'settled' });
    expect(await one.reversals()).toMatchObject({
      refunds: [{ id: refundId, providerId, status: 'succeeded' }],
      refundedMinor: 300,
    });
    expect((await one.reversals())?.refunds).toHaveLength(1);
    expect((await one.stored())?.timeline.at(-1)).toMatchObject({
      what: 'refund found',
      reason: 'asked Bob',
    });
    expect(await one.carryOut()).toEqual({ result: 'succeeded' });
    await app.pass(day);
    expect((await one.reversals())?.refundedMinor).toBe(300);
    expect(await one.made()).toHaveLength(1);
    expect(await overdue()).toBe(0);
    expect(await one.settle(refundId, providerId, true)).toEqual({ kind: 'notAsked' });
  });

  test('"order it as well": both are made', async () => {
    expect(await one.settle(refundId, providerId, false)).toMatchObject({ kind: 'settled' });
    expect((await one.stored())?.timeline.at(-1)).toMatchObject({ what: 'refund ordered again' });
    expect(await one.orders()).toHaveLength(2);
    expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
    expect(await one.made()).toHaveLength(2);
    expect(await one.reversals()).toMatchObject({ refundedMinor: 600 });
    expect(await overdue()).toBe(0);
  });

  test('"order it as well" takes all that is left', async () => {
    await one.byHand(one.amountMinor - 600);
    await app.pass(day);
    expect(await one.settle(refundId, providerId, false)).toMatchObject({ kind: 'settled' });
    expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
    expect((await one.reversals())?.refundedMinor).toBe(one.amountMinor);
  });

  test('"order it as well" is refused if that much is no longer left', async () => {
    await one.byHand(one.amountMinor - 300);
    await app.pass(day);
    expect(await one.settle(refundId, providerId, false)).toEqual({ kind: 'tooMuch', leftMinor: 0 });
    // The other word ends it.
    expect(await one.settle(refundId, providerId, true)).toMatchObject({ kind: 'settled' });
    expect(await overdue()).toBe(0);
  });
});

test('one refund by hand may be each of two of its amount: the word on one decides what becomes of the other', async () => {
  const one = await aPaid();
  await one.request('first', 300);
  await one.request('second', 300);
  const { id } = await one.byHand(300);
  await app.pass(5 * minute);
  const [first = '', second = ''] = ((await one.reversals())?.refunds ?? []).flatMap((refund) =>
    refund.mayBe === id ? refund.id : [],
  );
  expect(second).not.toBe('');
  const ordered = (await one.orders()).length;
  expect(await one.settle(second, id, true)).toMatchObject({ kind: 'settled' });
  expect(await one.orders()).toHaveLength(ordered + 1);
  expect((await one.orders()).at(-1)?.input).toEqual({ refundId: first });
  expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
  expect(await one.made()).toHaveLength(2);
  expect(await one.reversals()).toMatchObject({ refundedMinor: 600 });
});

test('after a "no" about one, the other of its amount still waits', async () => {
  const one = await aPaid();
  await one.request('first', 300);
  await one.request('second', 300);
  const { id } = await one.byHand(300);
  await app.pass(5 * minute);
  const waiting = async () =>
    ((await one.reversals())?.refunds ?? []).flatMap((refund) => (refund.mayBe === id ? refund.id : []));
  const [first = '', second = ''] = await waiting();
  expect(await one.settle(first, id, false)).toMatchObject({ kind: 'settled' });
  expect((await one.orders()).at(-1)?.input).toEqual({ refundId: first });
  expect(await waiting()).toEqual([second]);
});

test('a "no" orders nothing while another refund by hand may be it', async () => {
  const one = await aPaid();
  const requested = await one.request('k', 300);
  const refundId = requested.kind === 'requested' ? requested.refund.id : '';
  for (const _ of [1, 2]) await one.byHand(300);
  await app.pass(5 * minute);
  const waitsFor = async () =>
    (await one.reversals())?.refunds.find(({ id }) => id === refundId)?.mayBe ?? '';
  const first = await waitsFor();
  const ordered = (await one.orders()).length;
  expect(await one.settle(refundId, first, false)).toMatchObject({ kind: 'settled' });
  expect(await one.orders()).toHaveLength(ordered);
  expect((await one.stored()).timeline.at(-1)).toMatchObject({ what: 'refund is another' });
  expect(['', first]).not.toContain(await waitsFor());
});

test('a refund by hand that is recorded between the list and the call is noticed', async () => {
  const one = await aPaid();
  await one.request('k', 300);
  const { provider } = app.parts;
  let byHand: Stripe.Refund | undefined;
  const listed: typeof app.parts = {
    ...app.parts,
    provider: {
      within: (limits) => {
        const calls = provider.within(limits);
        return {
          ...calls,
          async retrieve(paymentId) {
            const payment = await calls.retrieve(paymentId);
            byHand ??= await one.byHand(300);
            await trackPayment(app.parts, paymentId);
            return payment;
          },
        };
      },
    },
  };
  expect(await one.carryOut(listed)).toEqual({ result: 'waits for a person', mayBe: byHand?.id });
  expect(await one.made()).toHaveLength(1);
});

test('a refund by hand counts at once, and whatever the clocks say', async () => {
  const one = await aPaid();
  // The clock of this process is an hour ahead of the provider's.
  const { parts } = app;
  const fast = { ...parts.instance.clock, now: () => parts.instance.clock.now() + 60 * minute };
  await refundInvoice({ ...parts, instance: { ...parts.instance, clock: fast } }, one.id, {
    idempotencyKey: 'k',
    reason: 'returned',
    by: 'ada',
    amountMinor: 300,
  });
  const { id } = await one.byHand(300);
  expect(await one.carryOut()).toEqual({ result: 'waits for a person', mayBe: id });
  expect(await one.made()).toHaveLength(1);
});

test('a refund by hand that was known before the request, or of another amount, is not taken for it', async () => {
  const one = await aPaid();
  await one.request('first', 100);
  await one.byHand(300);
  await app.pass(5 * minute);
  await one.carryOut();
  await one.request('k', 300);
  await one.byHand(200);
  expect(await one.carryOut()).toMatchObject({ result: 'succeeded' });
  expect(await one.reversals()).toMatchObject({ refundedMinor: 700 });
});

describe('without any event', () => {
  test('a refund that is pending is asked about until it has ended', async () => {
    const one = await aPaid('pm_usBankAccount_success');
    await one.request('k', 300);
    expect(await one.carryOut()).toMatchObject({ result: 'pending' });
    expect(await one.stored()).toMatchObject({ checkAt: expect.any(String) });
    await app.pass(5 * day);
    expect(await one.reversals()).toMatchObject({ refunds: [{ status: 'succeeded' }] });
    expect(await one.stored()).not.toHaveProperty('checkAt');
  });

  test('a dispute that is open is asked about until the bank decides: at most once a day, with three calls', async () => {
    const one = await aPaid();
    const { id: paymentIntent } = (await one.stored()).payment;
    const { id } = (await app.local('disputes', { paymentIntent })) as { id: string };
    // Somebody has to tell of it at first: an event, or the check of something else.
    await one.request('k', 100);
    await app.pass(5 * minute);
    expect(await one.reversals()).toMatchObject({ disputes: [{ id, status: 'open' }] });
    await one.carryOut();
    let checks = 0;
    await fetch(`${app.payments.baseUrl}/_local/stats`, { method: 'DELETE' });
    const days = isFull ? 60 : 15;
    const end = app.clock.now() + days * day;
    for (;;) {
      const next = Date.parse((await one.stored()).checkAt ?? '');
      if (next > end) break;
      checks += (await app.pass(next - app.clock.now())).changed;
    }
    const { calls } = (await app.local('stats')) as { calls: number };
    // Fourteen in the first two days, then one a day.
    expect(checks).toBeGreaterThanOrEqual(days + 10);
    expect(checks).toBeLessThanOrEqual(days + 14);
    expect(calls).toBe(3 * checks);
    await app.local(`disputes/${id}`, { status: 'lost' });
    await app.pass(day);
    expect(await one.reversals()).toMatchObject({ disputes: [{ id, status: 'lost' }], disputedMinor: 1000 });
    expect(await one.stored()).not.toHaveProperty('checkAt');
  });
});
