// Invoices that name a payment which nobody has recorded: a retry asks about it first, and charges nothing.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { eventItem, paymentEventStage } from '../../src/after/eventStage.ts';
import { retryInvoice } from '../../src/after/retryInvoice.ts';
import { voidInvoice } from '../../src/after/voidInvoice.ts';
import { eventStage } from '../../src/invoice/followUps.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { retryPiece } from '../../src/ops/bulk/bulkInvoices.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { day, longPayments } from '../support/longPayments.ts';
import { hour } from '../support/payingWorld.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
beforeAll(async () => {
  app = await longPayments({ searchLagMs: 1_000 * day });
});
afterAll(() => app[Symbol.asyncDispose]());

const actor = 'ada';

/** A voided invoice that somebody has paid past the app, as an event has told: it waits for a person. */
async function paidAfterVoid() {
  const invoice = await app.invoice({ dueAt: '2099-01-01T00:00:00.000Z' });
  await voidInvoice(app.parts, invoice.id, { actor, reason: 'cash' });
  const paymentId = await payPastApp(invoice);
  const parked: Invoice = await invoice.stored();
  expect(parked).toMatchObject({ status: 'parked', reason: expect.stringContaining(paymentId) });
  return { ...invoice, paymentId };
}

/** Somebody pays an invoice past the app, and an event tells of it. */
async function payPastApp({ id: invoiceId, stored }: Awaited<ReturnType<typeof app.invoice>>, more = 0) {
  const { secretKey, baseUrl: apiBase } = app.payments;
  const stripe = stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
  const { amountMinor, currency, customerId } = await stored();
  const { id: paymentId } = await stripe.paymentIntents.create({
    amount: amountMinor + more,
    currency,
    customer: customerId,
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    off_session: true,
    confirm: true,
    metadata: { invoiceId },
  });
  const event = { eventId: `evt_${paymentId}`, hint: 'succeeded', paymentId, invoiceId } as const;
  await lookInto(paymentId, eventItem(event).input);
  return paymentId;
}

async function lookInto(resourceId: string, input: unknown): Promise<void> {
  const stage = paymentEventStage(app.parts);
  await stage.run(input, { resourceId, signal: new AbortController().signal, assertHeld() {} });
}

test('an invoice in progress that somebody else has paid is not voided: that payment is recorded', async () => {
  const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_processing' });
  expect(await invoice.pay()).toMatchObject({ status: 'processing' });
  const paymentId = await payPastApp(invoice);
  const { id, stored } = invoice;
  expect(await voidInvoice(app.parts, id, { actor, reason: 'paid at the shop' })).toEqual({
    kind: 'recorded',
    from: 'processing',
    status: 'paid',
    paymentId,
  });
  const paid = await stored();
  expect(paid).toMatchObject({ status: 'paid', payment: { id: paymentId } });
  expect(paid).not.toHaveProperty('reversals.payments');
});

describe('a voided invoice with a payment', () => {
  test('is retried, as its reason says: the payment is recorded, and nothing is charged', async () => {
    const { id, paymentId, stored, charges } = await paidAfterVoid();
    expect(await retryInvoice(app.parts, id, { actor })).toEqual({
      kind: 'recorded',
      from: 'parked',
      status: 'paid',
      paymentId,
    });
    expect(await stored()).toMatchObject({ status: 'paid', payment: { id: paymentId } });
    expect(await charges()).toHaveLength(1);
  });

  test('and then with another one: both are known once it is retried, whichever event came last', async () => {
    const invoice = await paidAfterVoid();
    const { id, shard, stored } = invoice;
    const latest = await payPastApp(invoice);
    expect(await retryInvoice(app.parts, id, { actor })).toMatchObject({
      kind: 'recorded',
      paymentId: latest,
    });
    expect(await stored()).not.toHaveProperty('reversals.payments');
    for (const { body } of await app.world.workItemMessages(shard)) {
      for (const item of z.array(workItemSchema).parse(body))
        if (item.stage === eventStage) await lookInto(item.resourceId, item.input);
    }
    const { amountMinor, ...paid } = await stored();
    expect(paid).toMatchObject({
      payment: { id: latest },
      reversals: { payments: [{ id: invoice.paymentId, amountMinor }] },
    });
  });

  test('is left out of a bulk retry, which says so', async () => {
    const { id, shard, stored, charges } = await paidAfterVoid();
    const counts = await retryPiece(
      { invoices: app.world.invoices, instance: app.parts.instance },
      { kind: 'invoices', shard, ids: [id] },
      { status: 'parked' },
      { runId: 'run-1', actor, reason: 'after an outage', assertHeld() {} },
    );
    expect(counts).toEqual({
      counts: { retried: 0, namesPayment: 1 },
      refused: [{ id: expect.any(String), why: expect.stringContaining('names a payment') }],
    });
    expect(await stored()).toMatchObject({ status: 'parked' });
    expect(await charges()).toHaveLength(1);
  });
});

test('an invoice with a payment of another amount is not charged by a retry, however soon it comes', async () => {
  const invoice = await app.invoice({ dueAt: '2099-01-01T00:00:00.000Z' });
  const paymentId = await payPastApp(invoice, 500);
  const { id, stored, charges } = invoice;
  expect(await stored()).toMatchObject({ status: 'parked' });
  const early = await retryInvoice(app.parts, id, { actor });
  expect(early.kind).toBe('wait');
  expect(await stored()).toMatchObject({ status: 'parked' });
  await app.pass(hour);
  expect(await retryInvoice(app.parts, id, { actor })).toEqual({
    kind: 'unclear',
    message: expect.stringContaining(paymentId),
  });
  expect(await stored()).toMatchObject({ status: 'parked' });
  expect(await charges()).toHaveLength(1);
});
