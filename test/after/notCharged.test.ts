/**
 * Somebody says that nothing was charged, and is wrong: a new key would be a second charge. The provider is asked first, by
 * id, by search and in its list, which shows a payment that the search does not know yet.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsOverMs } from '../../src/paying/payingPolicy.ts';
import { correctedInvoices } from '../support/correctedInvoices.ts';
import { day, longPayments } from '../support/longPayments.ts';
import { hour } from '../support/payingWorld.ts';

const vouched = { notCharged: true, reason: 'not in the provider’s list' };

describe.each([
  ['at once', 0],
  ['a minute late', 60_000],
  ['not at all', 1_000 * day],
])('a search that shows payments %s', (_, searchLagMs) => {
  let app: Awaited<ReturnType<typeof longPayments>>;
  let corrected: ReturnType<typeof correctedInvoices>;
  beforeAll(async () => {
    app = await longPayments({ searchLagMs });
    corrected = correctedInvoices(app);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('a payment in progress that was parked: it is followed, and charged once', async () => {
    const { id, paymentId, stored, charges, ordered } = await corrected.parked({
      charged: 'pm_usBankAccount_success',
    });
    expect(await stored()).toMatchObject({ status: 'parked', payment: { keyNumber: 1 } });
    expect(await stored()).not.toHaveProperty('payment.inProgress');
    await app.clock.advance(hour);

    expect(await corrected.retry(id, vouched)).toEqual({
      kind: 'recorded',
      from: 'parked',
      status: 'processing',
      paymentId,
    });
    expect(await stored()).toMatchObject({
      status: 'processing',
      payment: { keyNumber: 1, inProgress: { id: paymentId } },
    });
    expect(await corrected.retry(id, vouched)).toEqual({ kind: 'refused', status: 'processing' });
    await app.pass(5 * day);
    expect(await stored()).toMatchObject({ status: 'paid', payment: { keyNumber: 1, id: paymentId } });
    expect(await charges()).toHaveLength(1);
    expect(await ordered()).toContain('receipt');
  });

  test('processing, then parked: its id is in the timeline, and it is charged once', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_card_local_processingSucceeds' });
    const { payment } = await invoice.pay();
    const { inProgress, ...older } = payment;
    await app.world.container.item(invoice.id, invoice.shard).patch([
      { op: 'set', path: '/status', value: 'parked' },
      { op: 'set', path: '/payment', value: older },
      { op: 'remove', path: '/checkAt' },
    ]);
    expect(await corrected.retry(invoice.id, vouched)).toMatchObject({
      kind: 'recorded',
      status: 'processing',
    });
    expect(await invoice.stored()).toMatchObject({
      payment: { keyNumber: 1, inProgress: { id: inProgress?.id } },
    });
    await app.pass(hour);
    expect(await invoice.stored()).toMatchObject({ status: 'paid', payment: { keyNumber: 1 } });
    expect(await invoice.charges()).toHaveLength(1);
  });

  test('it ended meanwhile without charging: the new key is charged, once', async () => {
    const { id, stored, charges, pay } = await corrected.parked({ charged: 'pm_card_local_processingFails' });
    await app.clock.advance(hour);
    await app.world.container
      .item(id, (await stored()).shard)
      .patch([{ op: 'set', path: '/paymentMethod', value: 'pm_card_visa' }]);
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'retried', from: 'parked' });
    expect(await pay()).toMatchObject({ status: 'paid', payment: { keyNumber: 2 } });
    expect(await charges()).toHaveLength(1);
  });

  test('charged without our knowledge: it is paid under its old key, and charged once', async () => {
    const { id, paymentId, stored, charges } = await corrected.parked({ charged: 'pm_card_visa' });
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'recorded', status: 'paid', paymentId });
    expect(await stored()).toMatchObject({ status: 'paid', payment: { keyNumber: 1, id: paymentId } });
    expect(await charges()).toHaveLength(1);
  });

  test('a call that was still in flight: a new key has to wait until it must have arrived', async () => {
    const { id, lateCall, stored, charges } = await corrected.parked();
    const until = new Date(app.clock.now() + callsOverMs).toISOString();
    await app.clock.advance(callsOverMs - 1);
    expect(await corrected.retry(id, vouched)).toEqual({ kind: 'wait', until });
    expect(await stored()).toMatchObject({ status: 'parked', payment: { keyNumber: 1 } });
    await lateCall();
    await app.clock.advance(1);
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'recorded', status: 'paid' });
    expect(await charges()).toHaveLength(1);
  });

  test('nothing was charged: the new key is charged once', async () => {
    const { id, stored, charges, pay } = await corrected.parked();
    await app.clock.advance(callsOverMs);
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'retried' });
    const retried = await stored();
    expect(retried).toMatchObject({
      status: 'pending',
      payment: { keyNumber: 2 },
      timeline: [{}, {}, {}, { what: 'retried', notCharged: true, check: 'the provider has no payment' }],
    });
    expect(retried).not.toHaveProperty('payment.unknownSince');
    expect(await pay()).toMatchObject({ status: 'paid' });
    expect(await charges()).toMatchObject([{ idempotencyKey: `invoice-${id}-2` }]);
  });

  test('refunded in full: it was charged, so it gets no second charge', async () => {
    const { id, paymentId, stored } = await corrected.parked({ charged: 'pm_card_visa' });
    await fetch(`${app.payments.baseUrl}/v1/refunds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.payments.secretKey}` },
      body: new URLSearchParams({ payment_intent: paymentId }),
    });
    await app.clock.advance(callsOverMs);
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'unclear' });
    expect(await stored()).toMatchObject({ status: 'parked' });
  });

  test('the provider cannot say: no new key', async () => {
    const { id, stored } = await corrected.parked();
    await app.clock.advance(callsOverMs);
    await app.local('faults', { kind: '500', count: 1, filter: { operation: 'list' } });
    expect(await corrected.retry(id, vouched)).toMatchObject({ kind: 'silent' });
    expect(await stored()).toMatchObject({ status: 'parked', payment: { keyNumber: 1 } });
  });
});

describe('another payment method', () => {
  let app: Awaited<ReturnType<typeof longPayments>>;
  let corrected: ReturnType<typeof correctedInvoices>;
  beforeAll(async () => {
    app = await longPayments();
    corrected = correctedInvoices(app);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('after a decline it is charged under the next key, and kept for the ones after that', async () => {
    const { id, pay, stored, charges } = await app.invoice({
      paymentMethod: 'pm_card_chargeDeclinedExpiredCard',
    });
    await pay();
    const wish = { paymentMethod: 'pm_card_chargeDeclinedInsufficientFunds' };
    expect(await corrected.retry(id, wish)).toMatchObject({ kind: 'retried', from: 'declined' });
    const retried = await stored();
    expect(retried).toMatchObject({
      payment: { keyNumber: 2, method: { id: wish.paymentMethod, from: 'retry' } },
      timeline: expect.arrayContaining([expect.objectContaining({ what: 'retried', ...wish })]),
    });
    expect(retried).not.toHaveProperty('declinedAt');
    // Softly: the app itself goes on with the same method, under a key of its own.
    expect(await pay()).toMatchObject({
      status: 'pending',
      payment: { keyNumber: 3, method: { id: wish.paymentMethod } },
    });
    expect(await charges()).toEqual([]);
  });

  test('is charged instead of the imported one', async () => {
    const { id, pay, charges } = await app.invoice({ paymentMethod: 'pm_card_chargeDeclinedExpiredCard' });
    await pay();
    await corrected.retry(id, { paymentMethod: 'pm_card_visa' });
    expect(await pay()).toMatchObject({ status: 'paid' });
    expect(await charges()).toMatchObject([{ idempotencyKey: `invoice-${id}-2` }]);
  });

  test('for one that the provider refused: only once no call can be in flight', async () => {
    const { id, pay, stored, charges } = await app.invoice({ paymentMethod: 'pm_nobodys' });
    expect(await pay()).toMatchObject({ status: 'parked' });
    expect(await corrected.retry(id, { paymentMethod: 'pm_card_visa' })).toMatchObject({ kind: 'wait' });
    await app.clock.advance(callsOverMs);
    expect(await corrected.retry(id, { paymentMethod: 'pm_card_visa' })).toMatchObject({ kind: 'retried' });
    expect(await stored()).toMatchObject({ payment: { keyNumber: 2 } });
    expect(await pay()).toMatchObject({ status: 'paid' });
    expect(await charges()).toHaveLength(1);
  });

  test('is refused while a charge may exist, unless it is found that there is none', async () => {
    const { id, stored, pay, charges } = await corrected.parked();
    const before = await stored();
    await app.clock.advance(callsOverMs);
    expect(await corrected.retry(id, { paymentMethod: 'pm_card_visa' })).toEqual({ kind: 'mayBeCharged' });
    expect(await stored()).toEqual(before);
    const wish = { ...vouched, paymentMethod: 'pm_card_mastercard' };
    expect(await corrected.retry(id, wish)).toMatchObject({ kind: 'retried' });
    expect(await pay()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_mastercard' } } });
    expect(await charges()).toHaveLength(1);
  });

  test('without a method of its own, the customer’s default is asked for again', async () => {
    const { id, shard, pay, charges } = await app.invoice({ customerId: 'cus_without' });
    await app.world.container.item(id, shard).patch([{ op: 'remove', path: '/paymentMethod' }]);
    expect(await pay()).toMatchObject({
      status: 'declined',
      reason: expect.stringContaining('no_payment_method'),
    });
    const response = await fetch(`${app.payments.baseUrl}/v1/customers/cus_without`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.payments.secretKey}` },
      body: new URLSearchParams({ 'invoice_settings[default_payment_method]': 'pm_card_visa' }),
    });
    expect(response.status).toBe(200);
    expect(await corrected.retry(id)).toMatchObject({ kind: 'retried', from: 'declined' });
    expect(await pay()).toMatchObject({ status: 'paid', payment: { method: { from: 'customer' } } });
    expect(await charges()).toHaveLength(1);
  });
});
