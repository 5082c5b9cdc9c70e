import { expect, test } from 'vitest';
import { armFault, charge, chargesOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const { payments, clock, stripe } = await paymentsForFile();
const hour = 3_600_000;

test('a repeated call with the same key replays the first response and charges nothing', async () => {
  const invoiceId = newInvoiceId();
  const first = await stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: 'same' });
  const second = await stripe.paymentIntents.create(charge({ invoiceId }), { idempotencyKey: 'same' });
  expect(second).toEqual(first);
  expect(first.lastResponse.headers['idempotent-replayed']).toBeUndefined();
  expect(second.lastResponse.headers['idempotent-replayed']).toBe('true');
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
});

test('different parameters with the same key are an idempotency error, on every endpoint', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'other-parameters' };
  const { id } = await stripe.paymentIntents.create(charge({ invoiceId }), options);
  const expected = { type: 'StripeIdempotencyError', rawType: 'idempotency_error', statusCode: 400 };
  const amount = await refusalOf(stripe.paymentIntents.create(charge({ invoiceId, amount: 1 }), options));
  expect(amount).toMatchObject(expected);
  expect(amount.message).toContain("'other-parameters'");
  expect(await refusalOf(stripe.paymentIntents.cancel(id, {}, options))).toMatchObject(expected);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
});

test('the key keeps a decline', async () => {
  const invoiceId = newInvoiceId();
  const declined = charge({ invoiceId, payment_method: 'pm_card_chargeDeclined' });
  const first = await refusalOf(stripe.paymentIntents.create(declined, { idempotencyKey: 'declined' }));
  const second = await refusalOf(stripe.paymentIntents.create(declined, { idempotencyKey: 'declined' }));
  expect(second.headers?.['idempotent-replayed']).toBe('true');
  expect(second.payment_intent).toEqual(first.payment_intent);
});

test('the key keeps a 500 from after the charge, but not one from before it', async () => {
  const invoiceId = newInvoiceId();
  const after = charge({ invoiceId, payment_method: 'pm_local_serverErrorAfterChargeOnce' });
  for (const replayed of [undefined, 'true', 'true']) {
    const refusal = await refusalOf(stripe.paymentIntents.create(after, { idempotencyKey: '500-after' }));
    expect(refusal).toMatchObject({ type: 'StripeAPIError', statusCode: 500 });
    expect(refusal.headers?.['idempotent-replayed']).toBe(replayed);
  }
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);

  const other = newInvoiceId();
  const before = charge({ invoiceId: other, payment_method: 'pm_local_serverErrorOnce' });
  const refusal = await refusalOf(stripe.paymentIntents.create(before, { idempotencyKey: '500' }));
  expect(refusal).toMatchObject({ statusCode: 500 });
  expect(await chargesOf(payments, other)).toEqual([]);
  const again = await stripe.paymentIntents.create(before, { idempotencyKey: '500' });
  expect(again.status).toBe('succeeded');
});

test('a call refused for its parameters leaves the key unused', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'refused-first' };
  const unknown = charge({ invoiceId, payment_method: 'pm_nobody' });
  expect(await refusalOf(stripe.paymentIntents.create(unknown, options))).toMatchObject({ statusCode: 400 });
  expect((await stripe.paymentIntents.create(charge({ invoiceId }), options)).status).toBe('succeeded');
});

test('while the first call is in progress, a second one gets 409', async () => {
  const invoiceId = newInvoiceId();
  await armFault(payments, { kind: 'delay', delayMs: 5000, filter: { invoiceId } });
  const options = { idempotencyKey: 'under-way' };
  const first = stripe.paymentIntents.create(charge({ invoiceId }), options);
  await expect.poll(() => clock.sleepers()).toBe(1);
  const second = await refusalOf(stripe.paymentIntents.create(charge({ invoiceId }), options));
  expect(second).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' });
  await clock.advance(5000);
  const { id } = await first;
  expect((await stripe.paymentIntents.create(charge({ invoiceId }), options)).id).toBe(id);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
});

test('an armed delay holds a replay up too', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'delayed-replay' };
  const { id } = await stripe.paymentIntents.create(charge({ invoiceId }), options);
  await armFault(payments, { kind: 'delay', delayMs: 5000, filter: { invoiceId } });
  const replay = stripe.paymentIntents.create(charge({ invoiceId }), options);
  await expect.poll(() => clock.sleepers()).toBe(1);
  await clock.advance(5000);
  expect((await replay).id).toBe(id);
});

test('after 24 h the key is forgotten and the same call charges again', async () => {
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'old' };
  const first = await stripe.paymentIntents.create(charge({ invoiceId }), options);
  await clock.advance(24 * hour - 1);
  expect((await stripe.paymentIntents.create(charge({ invoiceId }), options)).id).toBe(first.id);
  await clock.advance(1);
  expect((await stripe.paymentIntents.create(charge({ invoiceId }), options)).id).not.toBe(first.id);
  expect(await chargesOf(payments, invoiceId)).toHaveLength(2);
});

test('a key of more than 255 characters is refused', async () => {
  const call = stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }), {
    idempotencyKey: 'k'.repeat(256),
  });
  expect(await refusalOf(call)).toMatchObject({ statusCode: 400 });
});
