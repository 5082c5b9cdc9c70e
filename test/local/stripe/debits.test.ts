import { describe, expect, test } from 'vitest';
import {
  charge,
  chargeIdOf,
  chargesOf,
  newInvoiceId,
  paymentsForFile,
  refusalOf,
} from './paymentsForTests.ts';

const { payments, clock, stripe } = await paymentsForFile({ searchLagMs: 60_000 });
const day = 24 * 3600 * 1000;

const currencies = { sepa_debit: 'eur', us_bank_account: 'usd', bacs_debit: 'gbp', card: 'usd' } as const;
type Type = keyof typeof currencies;
const debit = (type: Type, payment_method: string, invoiceId = newInvoiceId()) =>
  charge({ invoiceId, payment_method, currency: currencies[type], allowed_payment_method_types: [type] });

describe('a method that is accepted', () => {
  test.each([
    ['sepa_debit', 'pm_sepaDebit_success_de', 5],
    ['sepa_debit', 'pm_success_fr', 5],
    ['sepa_debit', 'pm_sepaDebit_successDelayed_de', 14],
    ['us_bank_account', 'pm_usBankAccount_success', 4],
    ['bacs_debit', 'pm_bacsDebit_success', 4],
    ['bacs_debit', 'pm_bacsDebit_successDelayed', 7],
  ] as const)('%s: %s is paid after %i days', async (type, method, days) => {
    const invoiceId = newInvoiceId();
    const begun = await stripe.paymentIntents.create(debit(type, method, invoiceId), {
      idempotencyKey: invoiceId,
    });
    expect(begun).toMatchObject({ status: 'processing', amount_received: 0, payment_method_types: [type] });
    expect(begun.latest_charge).toMatch(/^py_/);
    expect(await stripe.charges.retrieve(chargeIdOf(begun))).toMatchObject({
      status: 'pending',
      paid: false,
      payment_intent: begun.id,
      payment_method_details: { type },
      metadata: { invoiceId },
    });
    await clock.advance(days * day - 1);
    expect((await stripe.paymentIntents.retrieve(begun.id)).status).toBe('processing');
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
    await clock.advance(1);
    expect(await stripe.paymentIntents.retrieve(begun.id)).toMatchObject({
      status: 'succeeded',
      amount_received: begun.amount,
      latest_charge: begun.latest_charge,
    });
    expect(await chargesOf(payments, invoiceId)).toEqual([
      {
        id: begun.latest_charge,
        invoiceId,
        amount: begun.amount,
        currency: currencies[type],
        idempotencyKey: invoiceId,
        paymentIntent: begun.id,
        status: 'succeeded',
        createdAt: new Date(clock.now()).toISOString(),
      },
    ]);
  });

  test.each([
    ['us_bank_account', 'pm_usBankAccount_insufficientFunds', 4, 'insufficient_funds'],
    ['us_bank_account', 'pm_usBankAccount_accountClosed', 4, 'account_closed'],
    ['us_bank_account', 'pm_usBankAccount_noAccount', 4, 'no_account'],
    ['us_bank_account', 'pm_usBankAccount_debitNotAuthorized', 4, 'debit_not_authorized'],
    ['bacs_debit', 'pm_bacsDebit_insufficientFundsDelayed', 7, 'insufficient_funds'],
    ['bacs_debit', 'pm_bacsDebit_debitNotAuthorizedDelayed', 7, 'debit_not_authorized'],
    ['sepa_debit', 'pm_sepaDebit_insufficientFunds_nl', 5, 'insufficient_funds'],
    ['sepa_debit', 'pm_sepaDebit_failed_de', 5, 'payment_intent_payment_attempt_failed'],
    ['sepa_debit', 'pm_sepaDebit_failedDelayed_de', 14, 'payment_intent_payment_attempt_failed'],
    ['card', 'pm_card_local_processingFails', 10 / (24 * 60), 'card_declined'],
  ] as const)('%s: %s fails after %f days with %s', async (type, method, days, code) => {
    const invoiceId = newInvoiceId();
    const begun = await stripe.paymentIntents.create(debit(type, method, invoiceId));
    const { id } = begun;
    const latest_charge = chargeIdOf(begun);
    await clock.advance(days * day - 1);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('processing');
    await clock.advance(1);
    expect(await stripe.paymentIntents.retrieve(id)).toMatchObject({
      status: 'requires_payment_method',
      payment_method: null,
      latest_charge,
      last_payment_error: { code, decline_code: 'generic_decline', charge: latest_charge },
    });
    expect(await stripe.charges.retrieve(latest_charge)).toMatchObject({
      status: 'failed',
      failure_code: code === 'payment_intent_payment_attempt_failed' ? 'incorrect_account_holder_name' : code,
    });
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test('pm_bacsDebit_debitNotAuthorized is accepted and fails at once', async () => {
    const { id, status } = await stripe.paymentIntents.create(
      debit('bacs_debit', 'pm_bacsDebit_debitNotAuthorized'),
    );
    expect(status).toBe('processing');
    expect(await stripe.paymentIntents.retrieve(id)).toMatchObject({
      status: 'requires_payment_method',
      last_payment_error: { code: 'debit_not_authorized' },
    });
  });

  test.each([
    ['us_bank_account', 'pm_usBankAccount_processing'],
    ['card', 'pm_card_local_processing'],
  ] as const)('%s: %s stays in progress for ever', async (type, method) => {
    const { id } = await stripe.paymentIntents.create(debit(type, method));
    await clock.advance(100 * day);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('processing');
  });

  test('a card can be in progress too', async () => {
    const invoiceId = newInvoiceId();
    const { id, status } = await stripe.paymentIntents.create(
      charge({ invoiceId, payment_method: 'pm_card_local_processingSucceeds' }),
    );
    expect(status).toBe('processing');
    await clock.advance(10 * 60_000);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
    expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  });

  test('while it is in progress it cannot be confirmed again; after a failure another method can pay', async () => {
    const invoiceId = newInvoiceId();
    const { id } = await stripe.paymentIntents.create({
      ...debit('us_bank_account', 'pm_usBankAccount_insufficientFunds', invoiceId),
      allowed_payment_method_types: ['us_bank_account', 'card'],
    });
    const again = await refusalOf(stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' }));
    expect(again).toMatchObject({
      statusCode: 400,
      code: 'payment_intent_unexpected_state',
      payment_intent: { id, status: 'processing' },
    });
    await clock.advance(4 * day);
    const paid = await stripe.paymentIntents.confirm(id, { payment_method: 'pm_card_visa' });
    expect(paid.status).toBe('succeeded');
    expect(await chargesOf(payments, invoiceId)).toHaveLength(1);
  });

  test('outcomes happen on time without any request', async () => {
    const invoiceId = newInvoiceId();
    const { id } = await stripe.paymentIntents.create(
      debit('us_bank_account', 'pm_usBankAccount_success', invoiceId),
    );
    expect(clock.sleepers()).toBe(1);
    await clock.advance(5 * day);
    expect(clock.sleepers()).toBe(0);
    const [row] = await chargesOf(payments, invoiceId);
    const { created } = await stripe.paymentIntents.retrieve(id);
    expect(row?.createdAt).toBe(new Date(created * 1000 + 4 * day).toISOString());
  });
});

describe('a method that is refused at once', () => {
  test.each([
    ['sepa_debit', 'pm_sepaDebit_exceedsWeeklyVolumeLimit_at', 'charge_exceeds_source_limit'],
    ['sepa_debit', 'pm_sepaDebit_exceedsWeeklyTransactionLimit_at', 'charge_exceeds_weekly_limit'],
    ['us_bank_account', 'pm_usBankAccount_weeklyLimitExceeded', 'charge_exceeds_source_limit'],
    ['bacs_debit', 'pm_bacsDebit_exceedsWeeklyLimit', 'charge_exceeds_source_limit'],
    ['bacs_debit', 'pm_bacsDebit_exceedsTransactionLimit', 'charge_exceeds_transaction_limit'],
  ] as const)('%s: %s with 402 %s', async (type, method, code) => {
    const refusal = await refusalOf(stripe.paymentIntents.create(debit(type, method)));
    expect(refusal).toMatchObject({
      statusCode: 402,
      code,
      payment_intent: { status: 'requires_payment_method' },
    });
    const charged = chargeIdOf(refusal.payment_intent ?? { latest_charge: null });
    expect(await stripe.charges.retrieve(charged)).toMatchObject({
      status: 'failed',
      failure_code: code,
    });
  });

  test('a mandate that the bank has refused', async () => {
    const refusal = await refusalOf(
      stripe.paymentIntents.create(debit('bacs_debit', 'pm_bacsDebit_mandateRefused')),
    );
    expect(refusal).toMatchObject({ statusCode: 400, code: 'payment_intent_mandate_invalid' });
  });
});

describe('payment method types', () => {
  test('are those allowed that the currency permits', async () => {
    const allowed_payment_method_types = ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'] as const;
    const typesFor = async (currency: string) => {
      const intent = await stripe.paymentIntents.create({
        amount: 700,
        currency,
        allowed_payment_method_types: [...allowed_payment_method_types],
      });
      expect(intent.allowed_payment_method_types).toEqual(allowed_payment_method_types);
      return intent.payment_method_types;
    };
    expect(await typesFor('eur')).toEqual(['card', 'sepa_debit']);
    expect(await typesFor('usd')).toEqual(['card', 'us_bank_account']);
    expect(await typesFor('gbp')).toEqual(['card', 'bacs_debit']);
    expect(await typesFor('jpy')).toEqual(['card']);
  });

  test.each([
    ['usd', ['card'], 'pm_usBankAccount_success', 'us_bank_account', 'card'],
    ['usd', ['us_bank_account'], 'pm_card_visa', 'card', 'us_bank_account'],
    ['usd', ['card', 'sepa_debit'], 'pm_sepaDebit_success_de', 'sepa_debit', 'card'],
  ] as const)('in %s with %j, %s is refused', async (currency, allowed, payment_method, type, types) => {
    const invoiceId = newInvoiceId();
    const refusal = await refusalOf(
      stripe.paymentIntents.create(
        charge({ invoiceId, currency, payment_method, allowed_payment_method_types: [...allowed] }),
      ),
    );
    expect(refusal).toMatchObject({ type: 'StripeInvalidRequestError', statusCode: 400 });
    expect(refusal.message).toContain(`The PaymentMethod provided (${type}) is not allowed`);
    expect(refusal.message).toContain(`of the following types: ${types}.`);
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test.each([
    ['usd', 'sepa_debit', 'eur'],
    ['eur', 'us_bank_account', 'usd'],
    ['eur', 'bacs_debit', 'gbp'],
  ] as const)('%s is refused where only %s is allowed', async (currency, type, only) => {
    const refusal = await refusalOf(
      stripe.paymentIntents.create({ amount: 700, currency, allowed_payment_method_types: [type] }),
    );
    expect(refusal).toMatchObject({ statusCode: 400, param: 'currency' });
    expect(refusal.message).toBe(
      `The currency provided (${currency}) is invalid. Payments with ${type} support the following currencies: ${only}.`,
    );
  });

  test.each(['pm_usBankAccount_riskLevelHighest', 'pm_usBankAccount_failMicrodeposits'])(
    '%s is 501',
    async (method) => {
      const refusal = await refusalOf(stripe.paymentIntents.create(debit('us_bank_account', method)));
      expect(refusal).toMatchObject({ statusCode: 501 });
      expect(refusal.message).toContain(`'${method}'`);
    },
  );

  test('others are 501', async () => {
    const refusal = await refusalOf(
      stripe.paymentIntents.create({
        amount: 700,
        currency: 'eur',
        allowed_payment_method_types: ['ideal'],
      }),
    );
    expect(refusal.statusCode).toBe(501);
  });
});

describe('cancel while in progress', () => {
  const hour = 3600 * 1000;

  test('a debit can be canceled within an hour, and is then never paid', async () => {
    const invoiceId = newInvoiceId();
    const { id } = await stripe.paymentIntents.create(
      debit('us_bank_account', 'pm_usBankAccount_success', invoiceId),
    );
    await clock.advance(hour - 1000);
    const canceled = await stripe.paymentIntents.cancel(id, { cancellation_reason: 'abandoned' });
    expect(canceled).toMatchObject({
      status: 'canceled',
      cancellation_reason: 'abandoned',
      canceled_at: Math.floor(clock.now() / 1000),
    });
    await clock.advance(30 * day);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('canceled');
    expect(await chargesOf(payments, invoiceId)).toEqual([]);
  });

  test('after an hour it is refused, and paid', async () => {
    const { id } = await stripe.paymentIntents.create(debit('sepa_debit', 'pm_sepaDebit_success_de'));
    await clock.advance(hour);
    expect(await refusalOf(stripe.paymentIntents.cancel(id))).toMatchObject({
      statusCode: 400,
      code: 'payment_intent_unexpected_state',
      payment_intent: { status: 'processing' },
    });
    await clock.advance(5 * day);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
  });

  test('a card is refused from the start', async () => {
    const { id } = await stripe.paymentIntents.create(debit('card', 'pm_card_local_processing'));
    expect(await refusalOf(stripe.paymentIntents.cancel(id))).toMatchObject({
      code: 'payment_intent_unexpected_state',
    });
  });

  test('the test account that stays in progress can be canceled at any time', async () => {
    const { id } = await stripe.paymentIntents.create(
      debit('us_bank_account', 'pm_usBankAccount_processing'),
    );
    await clock.advance(9 * day);
    expect((await stripe.paymentIntents.cancel(id)).status).toBe('canceled');
  });
});

describe('search', () => {
  test('shows each status once its lag has passed, and until then the one before', async () => {
    const invoiceId = newInvoiceId();
    const { id } = await stripe.paymentIntents.create(
      debit('us_bank_account', 'pm_usBankAccount_success', invoiceId),
    );
    const found = async (clause = '') => {
      const query = `metadata['invoiceId']:'${invoiceId}'${clause}`;
      const { data } = await stripe.paymentIntents.search({ query });
      return data.map(({ status }) => status);
    };
    expect(await found()).toEqual([]);
    await clock.advance(60_000);
    expect(await found()).toEqual(['processing']);
    await clock.advance(4 * day - 60_000);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
    expect(await found()).toEqual(['processing']);
    expect(await found(" AND status:'succeeded'")).toEqual([]);
    await clock.advance(60_000);
    expect(await found()).toEqual(['succeeded']);
    expect(await found(" AND status:'processing'")).toEqual([]);
  });
});
