// Payments that the app did not make, in the same account: what an event about them does.
import type Stripe from 'stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventItem, paymentEventStage } from '../../src/after/eventStage.ts';
import type { EventHint } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { day, longPayments } from '../support/longPayments.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
let stripe: Stripe;
beforeAll(async () => {
  // The search shows nothing of what the tests do: only the retrieved payment counts.
  app = await longPayments({ searchLagMs: 1_000 * day });
  const { secretKey, baseUrl: apiBase } = app.payments;
  stripe = stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
});
afterAll(() => app[Symbol.asyncDispose]());

type Subject = Awaited<ReturnType<typeof app.invoice>>;

/** A payment that names an invoice, and the event about it. */
async function paidElsewhere(
  invoice: Subject,
  {
    deployment,
    hint = 'succeeded',
    ...changes
  }: Partial<Stripe.PaymentIntentCreateParams> & { deployment?: string; hint?: EventHint } = {},
) {
  const { amountMinor, currency, customerId } = await invoice.stored();
  const { id: paymentId } = await stripe.paymentIntents.create({
    amount: amountMinor,
    currency: currency.toLowerCase(),
    customer: customerId,
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    confirm: true,
    off_session: true,
    metadata: { invoiceId: invoice.id, ...(deployment === undefined ? {} : { deployment }) },
    ...changes,
  });
  const { input, resourceId } = eventItem({
    eventId: `evt_${paymentId}`,
    hint,
    paymentId,
    invoiceId: invoice.id,
  });
  const context = { resourceId, signal: new AbortController().signal, assertHeld() {} };
  return { paymentId, effect: await paymentEventStage(app.parts).run(input, context) };
}

test('a shop’s payment over the same amount pays the invoice, however far the search lags', async () => {
  const invoice = await app.invoice();
  const { paymentId } = await paidElsewhere(invoice);
  expect(await invoice.stored()).toMatchObject({ status: 'paid', payment: { id: paymentId } });
  expect(await invoice.charges()).toHaveLength(1);
});

test.each([
  ['another deployment', { deployment: 'other-brand' }],
  ['another customer', { customer: 'cus_other' }],
])('a payment of %s with the same id: the invoice is charged, and names it once', async (_whose, changes) => {
  const invoice = await app.invoice();
  const { paymentId } = await paidElsewhere(invoice, changes);
  expect(await invoice.pay()).toMatchObject({ status: 'paid' });
  const { payment, timeline } = await invoice.stored();
  expect(payment.id).not.toBe(paymentId);
  expect(timeline.filter((entry) => entry.paymentId === paymentId)).toMatchObject([
    { what: 'payment of somebody else' },
  ]);
});

test('a payment over another amount parks the invoice until a person decides, and counts for the alert', async () => {
  const parked = () => app.telemetry.values(metric.invoiceParked).length;
  const paid = await app.invoice();
  const before = parked();
  await paidElsewhere(paid);
  expect(parked()).toBe(before);
  const invoice = await app.invoice();
  const { paymentId } = await paidElsewhere(invoice, { amount: 77 });
  expect(await invoice.stored()).toMatchObject({
    status: 'parked',
    reason: expect.stringContaining(paymentId),
  });
  expect(parked()).toBe(before + 1);
});

test('a shop’s payment that waits for its customer is not canceled', async () => {
  const invoice = await app.invoice();
  const { paymentId } = await paidElsewhere(invoice, {
    payment_method: 'pm_card_authenticationRequired',
    off_session: false,
    hint: 'alive',
    return_url: 'https://example.com',
  });
  expect(await stripe.paymentIntents.retrieve(paymentId)).toMatchObject({ status: 'requires_action' });
});

test('an event that comes while the invoice is claimed is retried, not dropped', async () => {
  const invoice = await app.invoice();
  await app.world.container.item(invoice.id, invoice.shard).patch([
    { op: 'set', path: '/status', value: 'claimed' },
    { op: 'set', path: '/claim', value: aClaim },
  ]);
  await expect(paidElsewhere(invoice)).rejects.toThrow('the invoice is not settled yet');
});

const aClaim = {
  batchId: 'b1',
  by: 'host-a',
  runId: 'run-1',
  fence: 1,
  attempt: 1,
  at: '2026-01-01T00:00:00.000Z',
  phase: 'calling',
};
