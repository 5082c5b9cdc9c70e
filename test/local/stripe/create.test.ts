import { describe, expect, test } from 'vitest';
import { charge, chargesOf, clientOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const { payments, stripe } = await paymentsForFile();

describe('create and confirm in one call', () => {
  test('charges, and records it in the ledger', async () => {
    const invoiceId = newInvoiceId();
    const intent = await stripe.paymentIntents.create(charge({ invoiceId, description: 'Ünï & = %' }), {
      idempotencyKey: 'k-1',
    });
    expect(intent).toMatchObject({
      object: 'payment_intent',
      amount: 1999,
      amount_received: 1999,
      currency: 'usd',
      customer: 'cus_1',
      description: 'Ünï & = %',
      metadata: { invoiceId },
      status: 'succeeded',
      livemode: false,
    });
    expect(intent.lastResponse.requestId).toMatch(/^req_/);
    expect(await chargesOf(payments, invoiceId)).toEqual([
      {
        id: intent.latest_charge,
        invoiceId,
        amount: 1999,
        currency: 'usd',
        idempotencyKey: 'k-1',
        paymentIntent: intent.id,
        status: 'succeeded',
        createdAt: '2026-01-31T12:00:00.000Z',
      },
    ]);
  });

  test.each([
    ['pm_card_chargeDeclined', 'card_declined', 'generic_decline'],
    ['pm_card_visa_chargeDeclined', 'card_declined', 'generic_decline'],
    ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_visa_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_visa_chargeDeclinedLostCard', 'card_declined', 'lost_card'],
    ['pm_card_visa_chargeDeclinedStolenCard', 'card_declined', 'stolen_card'],
    ['pm_card_visa_chargeDeclinedVelocityLimitExceeded', 'card_declined', 'card_velocity_exceeded'],
    ['pm_card_chargeCustomerFail', 'card_declined', 'generic_decline'],
    ['pm_card_radarBlock', 'card_declined', 'fraudulent'],
    ['pm_card_chargeDeclinedExpiredCard', 'expired_card', 'expired_card'],
    ['pm_card_chargeDeclinedIncorrectCvc', 'incorrect_cvc', 'incorrect_cvc'],
    ['pm_card_chargeDeclinedProcessingError', 'processing_error', 'processing_error'],
    ['pm_card_authenticationRequired', 'authentication_required', 'authentication_required'],
  ])('%s is declined: %s, %s', async (payment_method, code, decline_code) => {
    const invoiceId = newInvoiceId();
    const refusal = await refusalOf(stripe.paymentIntents.create(charge({ invoiceId, payment_method })));
    expect(refusal).toMatchObject({
      type: 'StripeCardError',
      statusCode: 402,
      code,
      decline_code,
      payment_intent: { status: 'requires_payment_method', last_payment_error: { code } },
    });
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test.each([
    [{ payment_method: 'pm_nobody' }, 'resource_missing', 'payment_method'],
    [{ amount: 0 }, 'parameter_invalid_integer', 'amount'],
    [{ amount: 19.99 }, 'parameter_invalid_integer', 'amount'],
    [{ amount: 100_000_000 }, 'amount_too_large', 'amount'],
    [{ currency: 'dollars' }, undefined, 'currency'],
    [{ currency: '' }, 'parameter_invalid_empty', 'currency'],
    [{ currency: 'kwd', amount: 12_345 }, 'invalid_charge_amount', 'amount'],
    [{ currency: 'isk', amount: 1250 }, 'invalid_charge_amount', 'amount'],
    [{ confirm: false }, undefined, 'off_session'],
    [{ allowed_payment_method_types: undefined }, undefined, undefined],
    [
      { automatic_payment_methods: { enabled: true } },
      'parameters_exclusive',
      'allowed_payment_method_types',
    ],
    [{ payment_method_types: ['card'] }, 'payment_method_types_no_longer_supported', 'payment_method_types'],
  ])('%j is refused with %s at %s', async (parameters: object, code, param) => {
    const invoiceId = newInvoiceId();
    const refusal = await refusalOf(
      stripe.paymentIntents.create({ ...charge({ invoiceId }), ...parameters }),
    );
    expect(refusal).toMatchObject({ type: 'StripeInvalidRequestError', statusCode: 400, code, param });
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test.each([
    ['jpy', 500],
    ['kwd', 12_340],
    ['isk', 1300],
    ['idr', 999_999_999_999],
  ])('%s %i is accepted', async (currency, amount) => {
    const intent = await stripe.paymentIntents.create(
      charge({ invoiceId: newInvoiceId(), currency, amount }),
    );
    expect(intent).toMatchObject({ status: 'succeeded', amount, currency });
  });

  test('a payment method that was detached from its customer is refused each time', async () => {
    const invoiceId = newInvoiceId();
    for (const attempt of [1, 2]) {
      const create = stripe.paymentIntents.create(
        charge({ invoiceId, payment_method: 'pm_local_detached_1' }),
        { idempotencyKey: `detached-${attempt}` },
      );
      expect(await refusalOf(create)).toMatchObject({
        type: 'StripeInvalidRequestError',
        statusCode: 400,
        param: 'payment_method',
      });
    }
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test.each(['cus_missing_1', 'cus_deleted_1'])('customer %s is refused', async (customer) => {
    const invoiceId = newInvoiceId();
    const refusal = await refusalOf(stripe.paymentIntents.create({ ...charge({ invoiceId }), customer }));
    expect(refusal).toMatchObject({ statusCode: 400, code: 'resource_missing', param: 'customer' });
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test('an unsupported Stripe feature is 501 with its name', async () => {
    const refusal = await refusalOf(
      stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId(), capture_method: 'manual' })),
    );
    expect(refusal).toMatchObject({ statusCode: 501 });
    expect(refusal.message).toContain("'capture_method'");
    const other = await refusalOf(stripe.setupIntents.create({}));
    expect(other).toMatchObject({ statusCode: 501 });
    expect(other.message).toContain('POST /v1/setup_intents');
  });

  test('a wrong secret key is 401', async () => {
    const stranger = clientOf(payments, 'sk_test_other');
    const refusal = await refusalOf(stranger.paymentIntents.create(charge({ invoiceId: newInvoiceId() })));
    expect(refusal).toMatchObject({ type: 'StripeAuthenticationError', statusCode: 401 });
  });
});

describe('separate calls', () => {
  test('create, confirm, retrieve', async () => {
    const invoiceId = newInvoiceId();
    const { id, status } = await stripe.paymentIntents.create({
      amount: 700,
      currency: 'eur',
      metadata: { invoiceId },
    });
    expect(status).toBe('requires_payment_method');
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
    const confirmed = await stripe.paymentIntents.confirm(
      id,
      { payment_method: 'pm_card_mastercard' },
      { idempotencyKey: `confirm-${id}` },
    );
    expect(confirmed.status).toBe('succeeded');
    expect(await stripe.paymentIntents.retrieve(id)).toEqual(confirmed);
    expect(await chargesOf(payments, invoiceId)).toMatchObject([
      { amount: 700, idempotencyKey: `confirm-${id}` },
    ]);
    const again = await refusalOf(stripe.paymentIntents.confirm(id));
    expect(again).toMatchObject({ code: 'payment_intent_unexpected_state' });
  });

  test('after a decline another card can pay', async () => {
    const invoiceId = newInvoiceId();
    const { id } = await stripe.paymentIntents.create({
      amount: 700,
      currency: 'eur',
      metadata: { invoiceId },
    });
    await refusalOf(stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_chargeDeclined' }));
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('requires_payment_method');
    expect(await refusalOf(stripe.paymentIntents.confirm(id))).toMatchObject({ param: 'payment_method' });
    const paid = await stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' });
    expect(paid.status).toBe('succeeded');
    expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  });

  test('on-session, required authentication becomes an action', async () => {
    const intent = await stripe.paymentIntents.create(
      charge({
        invoiceId: newInvoiceId(),
        off_session: false,
        payment_method: 'pm_card_authenticationRequired',
      }),
    );
    expect(intent).toMatchObject({ status: 'requires_action', next_action: { type: 'use_stripe_sdk' } });
  });

  test('a canceled intent cannot be confirmed, nor a paid one canceled', async () => {
    const { id } = await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
    expect((await stripe.paymentIntents.cancel(id)).status).toBe('canceled');
    const confirm = await refusalOf(stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' }));
    expect(confirm).toMatchObject({ code: 'payment_intent_unexpected_state' });
    const paid = await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
    const cancel = await refusalOf(stripe.paymentIntents.cancel(paid.id));
    expect(cancel).toMatchObject({ code: 'payment_intent_unexpected_state' });
  });

  test('an unknown intent is 404', async () => {
    const refusal = await refusalOf(stripe.paymentIntents.retrieve('pi_none'));
    expect(refusal).toMatchObject({ statusCode: 404, code: 'resource_missing' });
  });
});
