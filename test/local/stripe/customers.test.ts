import { describe, expect, test } from 'vitest';
import { startPayments } from '../../../local/stripe/index.ts';
import {
  charge,
  chargeIdOf,
  clientOf,
  newInvoiceId,
  paymentsForFile,
  refusalOf,
  startProgram,
} from './paymentsForTests.ts';

const { payments, clock, stripe } = await paymentsForFile({ searchLagMs: 0 });
const defaultOf = async (id: string) => {
  const customer = await stripe.customers.retrieve(id);
  return customer.deleted ? undefined : customer.invoice_settings.default_payment_method;
};

describe('customers', () => {
  test('one that was never written exists, with no default', async () => {
    expect(await stripe.customers.retrieve('CUST-0815')).toMatchObject({
      id: 'CUST-0815',
      object: 'customer',
      livemode: false,
      invoice_settings: { default_payment_method: null },
    });
  });

  test('takes a default payment method, another, and none', async () => {
    const set = (default_payment_method: string) =>
      stripe.customers.update('cus_7', { invoice_settings: { default_payment_method } });
    await set('pm_card_visa');
    expect(await defaultOf('cus_7')).toBe('pm_card_visa');
    await set('pm_sepaDebit_success_de');
    expect(await defaultOf('cus_7')).toBe('pm_sepaDebit_success_de');
    expect(
      await stripe.customers.retrieve('cus_7', { expand: ['invoice_settings.default_payment_method'] }),
    ).toMatchObject({
      invoice_settings: {
        default_payment_method: {
          id: 'pm_sepaDebit_success_de',
          object: 'payment_method',
          type: 'sepa_debit',
        },
      },
    });
    expect(await refusalOf(set('pm_nobody'))).toMatchObject({
      statusCode: 400,
      code: 'resource_missing',
      param: 'invoice_settings[default_payment_method]',
    });
    await set('');
    expect(await defaultOf('cus_7')).toBeNull();
    expect(await defaultOf('cus_8')).toBeNull();
  });

  test('can be created with an id of its own', async () => {
    const { id, created } = await stripe.customers.create({
      email: 'a@example.com',
      metadata: { team: '1' },
      invoice_settings: { default_payment_method: 'pm_card_visa' },
    });
    expect(id).toMatch(/^cus_/);
    expect(created).toBe(Math.floor(clock.now() / 1000));
    expect(await stripe.customers.update(id, { metadata: { floor: '2' } })).toMatchObject({
      email: 'a@example.com',
      metadata: { team: '1', floor: '2' },
      invoice_settings: { default_payment_method: 'pm_card_visa' },
    });
    const refusal = await refusalOf(stripe.customers.create({ balance: 1 }));
    expect(refusal).toMatchObject({ statusCode: 501 });
  });
});

describe('payment methods', () => {
  test.each([
    ['pm_card_visa', 'card'],
    ['pm_local_timeoutAfterChargeOnce', 'card'],
    ['pm_sepaDebit_success_de', 'sepa_debit'],
    ['pm_usBankAccount_success', 'us_bank_account'],
    ['pm_bacsDebit_success', 'bacs_debit'],
  ])('%s is a %s', async (id, type) => {
    expect(await stripe.paymentMethods.retrieve(id)).toMatchObject({
      id,
      object: 'payment_method',
      type,
      livemode: false,
    });
  });

  test('an unknown one is 404', async () => {
    expect(await refusalOf(stripe.paymentMethods.retrieve('pm_nobody'))).toMatchObject({
      statusCode: 404,
      code: 'resource_missing',
    });
  });
});

describe('the account', () => {
  test('is the same at every start, unless told otherwise', async () => {
    expect(await stripe.accounts.retrieveCurrent()).toMatchObject({ id: 'acct_local', object: 'account' });
    await using other = await startPayments({ account: 'acct_other' });
    expect(await clientOf(other).accounts.retrieveCurrent()).toMatchObject({ id: 'acct_other' });
    const program = await startProgram('--account', 'acct_third');
    expect(await program.stripe.accounts.retrieveCurrent()).toMatchObject({ id: 'acct_third' });
  });
});

describe('expand', () => {
  const pay = (expand?: string[]) =>
    stripe.paymentIntents.create({
      ...charge({ invoiceId: newInvoiceId(), customer: 'CUST 9' }),
      ...(expand === undefined ? {} : { expand }),
    });

  test('shows the charge of an intent wherever intents are shown', async () => {
    const paid = await pay(['latest_charge']);
    const expected = { id: paid.id, latest_charge: { object: 'charge', status: 'succeeded', amount: 1999 } };
    expect(paid).toMatchObject(expected);
    expect(await stripe.paymentIntents.retrieve(paid.id, { expand: ['latest_charge'] })).toMatchObject(
      expected,
    );
    const listed = await stripe.paymentIntents.list({ limit: 1, expand: ['data.latest_charge'] });
    expect(listed.data).toMatchObject([expected]);
    const found = await stripe.paymentIntents.search({
      query: `metadata['invoiceId']:'${paid.metadata.invoiceId}'`,
      expand: ['data.latest_charge'],
    });
    expect(found.data).toMatchObject([expected]);
  });

  test('goes several levels deep, and leaves null alone', async () => {
    const { id } = await pay();
    const refund = await stripe.refunds.create({
      payment_intent: id,
      expand: ['charge.payment_intent.customer', 'charge.payment_method'],
    });
    expect(refund).toMatchObject({
      charge: {
        refunded: true,
        payment_intent: { id, customer: { id: 'CUST 9', object: 'customer' } },
        payment_method: { type: 'card' },
      },
    });
    const open = await stripe.paymentIntents.create({
      amount: 1,
      currency: 'eur',
      expand: ['latest_charge'],
    });
    expect(open.latest_charge).toBeNull();
  });

  test.each(['status', 'amount', 'nothing', 'latest_charge.status'])(
    '%s cannot be expanded',
    async (path) => {
      const { id } = await pay();
      const refusal = await refusalOf(stripe.paymentIntents.retrieve(id, { expand: [path] }));
      expect(refusal).toMatchObject({ statusCode: 400 });
      expect(refusal.message).toBe(`This property cannot be expanded (${path}).`);
    },
  );

  test('of a stored event leaves the event as it was', async () => {
    await pay(['latest_charge']);
    const { data } = await stripe.events.list({ type: 'payment_intent.succeeded', limit: 1 });
    expect(data).toMatchObject([{ data: { object: { latest_charge: expect.stringMatching(/^ch_/) } } }]);
  });
});

test('each operation is an endpoint of its own, and counted', async () => {
  await fetch(`${payments.baseUrl}/_local/stats`, { method: 'DELETE' });
  const paid = await stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId() }));
  const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 1 });
  await stripe.refunds.retrieve(refund.id);
  await stripe.refunds.list();
  await stripe.charges.retrieve(chargeIdOf(paid));
  await stripe.disputes.list();
  await stripe.events.list();
  await stripe.accounts.retrieveCurrent();
  const stats = await (await fetch(`${payments.baseUrl}/_local/stats`)).json();
  expect(stats).toMatchObject({
    calls: 8,
    byOperation: {
      create: 1,
      refund: 1,
      retrieveRefund: 1,
      listRefunds: 1,
      retrieveCharge: 1,
      listDisputes: 1,
      listEvents: 1,
      retrieveAccount: 1,
      retrieve: 0,
      retrieveCustomer: 0,
    },
  });
});
