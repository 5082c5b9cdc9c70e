import { describe, expect, test } from 'vitest';
import {
  armFault,
  charge,
  chargeIdOf,
  newInvoiceId,
  paymentsForFile,
  refusalOf,
} from './paymentsForTests.ts';

const { payments, clock, stripe } = await paymentsForFile();
const day = 24 * 3600 * 1000;

async function paid(payment_method = 'pm_card_visa', invoiceId = newInvoiceId()) {
  const intent = await stripe.paymentIntents.create(charge({ invoiceId, payment_method }));
  return { invoiceId, payment_intent: intent.id, chargeId: chargeIdOf(intent) };
}

async function paidByDebit(invoiceId = newInvoiceId()) {
  const intent = await stripe.paymentIntents.create(
    charge({
      invoiceId,
      payment_method: 'pm_usBankAccount_success',
      allowed_payment_method_types: ['us_bank_account'],
    }),
  );
  await clock.advance(4 * day);
  return { invoiceId, payment_intent: intent.id, chargeId: chargeIdOf(intent) };
}

async function ledgerOf(invoiceId: string): Promise<unknown[]> {
  const rows = (await (await fetch(`${payments.baseUrl}/_local/refunds`)).json()) as { invoiceId: string }[];
  return rows.filter((row) => row.invoiceId === invoiceId);
}

const chargeState = async (id: string) => {
  const { amount_refunded, refunded } = await stripe.charges.retrieve(id);
  return [amount_refunded, refunded];
};

describe('a card', () => {
  test('is refunded at once and in full, by intent or by charge', async () => {
    const { invoiceId, payment_intent, chargeId } = await paid();
    const refund = await stripe.refunds.create(
      { payment_intent, reason: 'requested_by_customer', metadata: { why: 'test' } },
      { idempotencyKey: `refund-${invoiceId}` },
    );
    expect(refund).toMatchObject({
      object: 'refund',
      amount: 1999,
      charge: chargeId,
      currency: 'usd',
      metadata: { why: 'test' },
      payment_intent,
      reason: 'requested_by_customer',
      status: 'succeeded',
    });
    expect(refund.id).toMatch(/^re_/);
    expect(await chargeState(chargeId)).toEqual([1999, true]);
    expect(await stripe.refunds.retrieve(refund.id)).toEqual(refund);
    expect(await ledgerOf(invoiceId)).toEqual([
      {
        id: refund.id,
        invoiceId,
        paymentIntent: payment_intent,
        amount: 1999,
        currency: 'usd',
        status: 'succeeded',
        idempotencyKey: `refund-${invoiceId}`,
        createdAt: '2026-01-31T12:00:00.000Z',
      },
    ]);
    const other = await paid();
    expect(await stripe.refunds.create({ charge: other.chargeId })).toMatchObject({ amount: 1999 });
  });

  test('is refunded in parts, up to what was paid', async () => {
    const { payment_intent, chargeId } = await paid();
    await stripe.refunds.create({ payment_intent, amount: 500 });
    expect(await chargeState(chargeId)).toEqual([500, false]);
    const tooMuch = await refusalOf(stripe.refunds.create({ payment_intent, amount: 1500 }));
    expect(tooMuch).toMatchObject({ statusCode: 400, param: 'amount', code: undefined });
    expect(tooMuch.message).toContain('is greater than unrefunded amount on charge');
    expect(await stripe.refunds.create({ payment_intent })).toMatchObject({ amount: 1499 });
    expect(await chargeState(chargeId)).toEqual([1999, true]);
    expect(await refusalOf(stripe.refunds.create({ payment_intent }))).toMatchObject({
      statusCode: 400,
      code: 'charge_already_refunded',
      param: undefined,
    });
  });

  test('may start pending, or fail after it succeeded', async () => {
    const later = await paid('pm_card_pendingRefund');
    const pending = await stripe.refunds.create({ payment_intent: later.payment_intent });
    expect(pending).toMatchObject({ status: 'pending', pending_reason: 'processing' });
    const bad = await paid('pm_card_refundFail');
    const failing = await stripe.refunds.create({ payment_intent: bad.payment_intent });
    expect(failing.status).toBe('succeeded');
    expect(await chargeState(bad.chargeId)).toEqual([1999, true]);
    await clock.advance(day);
    expect(await stripe.refunds.retrieve(pending.id)).toMatchObject({ status: 'succeeded' });
    expect(await stripe.refunds.retrieve(pending.id)).not.toHaveProperty('pending_reason');
    expect(await stripe.refunds.retrieve(failing.id)).toMatchObject({
      status: 'failed',
      failure_reason: 'expired_or_canceled_card',
    });
    expect(await chargeState(bad.chargeId)).toEqual([0, false]);
    expect(await stripe.refunds.create({ payment_intent: bad.payment_intent })).toMatchObject({
      amount: 1999,
    });
  });
});

describe('a bank debit', () => {
  test('is refunded within four days', async () => {
    const { payment_intent, chargeId } = await paidByDebit();
    const { id, status } = await stripe.refunds.create({ payment_intent, amount: 300 });
    expect(id).toMatch(/^pyr_/);
    expect(status).toBe('pending');
    expect(await chargeState(chargeId)).toEqual([300, false]);
    await clock.advance(4 * day - 1);
    expect((await stripe.refunds.retrieve(id)).status).toBe('pending');
    await clock.advance(1);
    expect((await stripe.refunds.retrieve(id)).status).toBe('succeeded');
  });

  test('fails to be refunded with an armed fault', async () => {
    const { invoiceId, payment_intent, chargeId } = await paidByDebit();
    await armFault(payments, { kind: 'refund-fails', filter: { invoiceId } });
    const { id, status } = await stripe.refunds.create({ payment_intent });
    expect(status).toBe('pending');
    await clock.advance(4 * day);
    expect(await stripe.refunds.retrieve(id)).toMatchObject({ status: 'failed', failure_reason: 'unknown' });
    expect(await chargeState(chargeId)).toEqual([0, false]);
    expect(await ledgerOf(invoiceId)).toMatchObject([{ id, status: 'failed' }]);
  });

  test('cannot be refunded while it is in progress', async () => {
    const intent = await stripe.paymentIntents.create(
      charge({
        invoiceId: newInvoiceId(),
        payment_method: 'pm_usBankAccount_success',
        allowed_payment_method_types: ['us_bank_account'],
      }),
    );
    const refusal = await refusalOf(stripe.refunds.create({ payment_intent: intent.id }));
    expect(refusal).toMatchObject({ statusCode: 400, code: undefined });
    expect(refusal.message).toBe(
      `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`,
    );
  });
});

describe('refused', () => {
  test('a declined payment, an unknown one, none at all', async () => {
    const invoiceId = newInvoiceId();
    const { payment_intent: declined } = await refusalOf(
      stripe.paymentIntents.create(charge({ invoiceId, payment_method: 'pm_card_chargeDeclined' })),
    );
    const refusal = await refusalOf(stripe.refunds.create({ payment_intent: String(declined?.id) }));
    expect(refusal.message).toContain('does not have a successful charge to refund');
    expect(await refusalOf(stripe.refunds.create({ payment_intent: 'pi_none' }))).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
    });
    expect(await refusalOf(stripe.refunds.create({ charge: 'ch_none' }))).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
    });
    expect(await refusalOf(stripe.refunds.create({}))).toMatchObject({ code: 'parameter_missing' });
  });

  test.each([
    [{ amount: 0 }, 'amount', 'parameter_invalid_integer'],
    [{ reason: 'whim' }, 'reason', undefined],
  ])('%j', async (parameters: object, param, code) => {
    const { payment_intent } = await paid();
    const refusal = await refusalOf(stripe.refunds.create({ payment_intent, ...parameters }));
    expect(refusal).toMatchObject({ statusCode: 400, param, code });
  });
});

test('a key refunds once', async () => {
  const { payment_intent, chargeId } = await paid();
  const options = { idempotencyKey: `once-${payment_intent}` };
  const first = await stripe.refunds.create({ payment_intent, amount: 100 }, options);
  const second = await stripe.refunds.create({ payment_intent, amount: 100 }, options);
  expect(second.id).toBe(first.id);
  expect(second.lastResponse.headers['idempotent-replayed']).toBe('true');
  expect(await chargeState(chargeId)).toEqual([100, false]);
  const other = await refusalOf(stripe.refunds.create({ payment_intent, amount: 200 }, options));
  expect(other.rawType).toBe('idempotency_error');
});

test.each([
  ['timeout-after', 1],
  ['500-after', 1],
  ['timeout-before', 0],
  ['500', 0],
])('the fault %s of a refund leaves %i refunds; the key then tells', async (kind, made) => {
  const { invoiceId, payment_intent } = await paid();
  await armFault(payments, { kind, filter: { operation: 'refund', invoiceId } });
  const options = { idempotencyKey: `fault-${invoiceId}` };
  await refusalOf(stripe.refunds.create({ payment_intent, amount: 100 }, { ...options, timeout: 150 }));
  await expect.poll(() => ledgerOf(invoiceId)).toHaveLength(made);
  const again = stripe.refunds.create({ payment_intent, amount: 100 }, options);
  if (kind === '500-after') expect(await refusalOf(again)).toMatchObject({ statusCode: 500 });
  else expect((await again).status).toBe('succeeded');
  expect(await ledgerOf(invoiceId)).toHaveLength(1);
});

test('lists refunds of an intent or a charge, newest first, in pages', async () => {
  const { payment_intent, chargeId } = await paid();
  const ids: string[] = [];
  for (const amount of [1, 2, 3]) ids.unshift((await stripe.refunds.create({ payment_intent, amount })).id);
  const listed: string[] = [];
  for await (const { id } of stripe.refunds.list({ payment_intent, limit: 2 })) listed.push(id);
  expect(listed).toEqual(ids);
  const { data } = await stripe.refunds.list({ charge: chargeId });
  expect(data.map(({ id }) => id)).toEqual(ids);
  expect((await stripe.refunds.list({ payment_intent: 'pi_other' })).data).toEqual([]);
});
