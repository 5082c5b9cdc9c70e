import { describe, expect, test } from 'vitest';
import { charge, chargeIdOf, newInvoiceId, paymentsForFile, refusalOf } from './paymentsForTests.ts';

const { payments, clock, stripe } = await paymentsForFile();
const day = 24 * 3600 * 1000;

const local = async (path: string, body?: object) => {
  const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${payments.baseUrl}/_local/${path}`, options);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const paidWith = (payment_method: string) =>
  stripe.paymentIntents.create(charge({ invoiceId: newInvoiceId(), payment_method }));
const disputesOf = async (payment_intent: string) => (await stripe.disputes.list({ payment_intent })).data;
/** The types of the events of a payment's disputes, oldest first. */
async function eventsOf(payment_intent: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type, data } of stripe.events.list({ limit: 100 })) {
    if (type.startsWith('charge.dispute.') && 'payment_intent' in data.object) {
      if (data.object.payment_intent === payment_intent) types.unshift(type.replace('charge.dispute.', ''));
    }
  }
  return types;
}

describe('a test card', () => {
  test.each([
    ['pm_card_createDispute', 'fraudulent', 'needs_response', ['created', 'funds_withdrawn']],
    [
      'pm_card_createDisputeProductNotReceived',
      'product_not_received',
      'needs_response',
      ['created', 'funds_withdrawn'],
    ],
    ['pm_card_createDisputeInquiry', 'fraudulent', 'warning_needs_response', ['created']],
  ])('%s is disputed as %s with status %s', async (method, reason, status, events) => {
    const intent = await paidWith(method);
    const { id, latest_charge } = intent;
    expect(intent.status).toBe('succeeded');
    expect(await disputesOf(id)).toMatchObject([
      {
        object: 'dispute',
        amount: 1999,
        charge: latest_charge,
        currency: 'usd',
        is_charge_refundable: status === 'warning_needs_response',
        livemode: false,
        payment_intent: id,
        reason,
        status,
      },
    ]);
    expect(await stripe.charges.retrieve(chargeIdOf(intent))).toMatchObject({ disputed: true });
    expect(await eventsOf(id)).toEqual(events);
  });
});

test.each([
  ['sepa_debit', 'pm_sepaDebit_disputed_de', 'eur', 5],
  ['us_bank_account', 'pm_usBankAccount_dispute', 'usd', 4],
  ['bacs_debit', 'pm_bacsDebit_dispute', 'gbp', 4],
] as const)(
  '%s: %s succeeds, and is lost to a dispute at once',
  async (type, payment_method, currency, days) => {
    const { id } = await stripe.paymentIntents.create(
      charge({
        invoiceId: newInvoiceId(),
        payment_method,
        currency,
        allowed_payment_method_types: [type],
      }),
    );
    expect(await disputesOf(id)).toEqual([]);
    await clock.advance(days * day);
    expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
    expect(await disputesOf(id)).toMatchObject([{ status: 'lost', reason: 'debit_not_authorized' }]);
    expect(await eventsOf(id)).toEqual(['created', 'funds_withdrawn', 'closed']);
  },
);

describe('a dispute opened by a test', () => {
  test.each([
    ['won', ['created', 'funds_withdrawn', 'closed', 'funds_reinstated']],
    ['lost', ['created', 'funds_withdrawn', 'closed']],
  ])('is %s', async (status, events) => {
    const { id } = await paidWith('pm_card_visa');
    const opened = await local('disputes', { paymentIntent: id, reason: 'duplicate', amount: 500 });
    expect(opened).toMatchObject({ status: 201, body: { amount: 500, reason: 'duplicate' } });
    const disputeId = String(opened.body.id);
    expect(await stripe.disputes.retrieve(disputeId)).toMatchObject({ status: 'needs_response' });
    expect(await local(`disputes/${disputeId}`, { status })).toMatchObject({ status: 200, body: { status } });
    expect(await stripe.disputes.retrieve(disputeId)).toMatchObject({ status });
    expect(await eventsOf(id)).toEqual(events);
    expect(await local(`disputes/${disputeId}`, { status: 'won' })).toMatchObject({ status: 400 });
    expect((await local('disputes')).body).toContainEqual(expect.objectContaining({ id: disputeId, status }));
  });

  test('as an inquiry takes no money unless it escalates', async () => {
    const { id } = await paidWith('pm_card_visa');
    const quiet = await local('disputes', { paymentIntent: id, inquiry: true });
    await local(`disputes/${String(quiet.body.id)}`, { status: 'warning_closed' });
    expect(await eventsOf(id)).toEqual(['created', 'closed']);
    const loud = await local('disputes', { paymentIntent: id, inquiry: true });
    await local(`disputes/${String(loud.body.id)}`, { status: 'needs_response' });
    expect((await eventsOf(id)).slice(2)).toEqual(['created', 'updated', 'funds_withdrawn']);
  });

  test('blocks a refund while it holds the money', async () => {
    const { id: payment_intent } = await paidWith('pm_card_visa');
    const { body } = await local('disputes', { paymentIntent: payment_intent });
    expect(await refusalOf(stripe.refunds.create({ payment_intent }))).toMatchObject({
      statusCode: 400,
      code: 'charge_disputed',
    });
    await local(`disputes/${String(body.id)}`, { status: 'won' });
    expect(await stripe.refunds.create({ payment_intent })).toMatchObject({ status: 'succeeded' });
  });

  test('needs a charge that has succeeded, and a status that exists', async () => {
    const open = await stripe.paymentIntents.create({ amount: 700, currency: 'eur' });
    expect(await local('disputes', { paymentIntent: open.id })).toMatchObject({ status: 400 });
    expect(await local('disputes/du_none', { status: 'lost' })).toMatchObject({ status: 404 });
    const { id } = await paidWith('pm_card_createDispute');
    const [dispute] = await disputesOf(id);
    expect(await local(`disputes/${dispute?.id}`, { status: 'forgotten' })).toMatchObject({ status: 400 });
  });
});

test('an unknown dispute is 404', async () => {
  expect(await refusalOf(stripe.disputes.retrieve('du_none'))).toMatchObject({
    statusCode: 404,
    code: 'resource_missing',
  });
});
