import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RetryLater } from '../../packages/jobs/src/workItems/nextTry.ts';
import { eventItem, paymentEventStage } from '../../src/after/eventStage.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import type { InvoiceStatus } from '../../src/invoice/invoiceStatus.ts';
import type { EventHint } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { day, longPayments } from '../support/longPayments.ts';
import { unpaced } from '../support/unpaced.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
beforeAll(async () => {
  app = await longPayments({ searchLagMs: 0 });
});
afterAll(() => app[Symbol.asyncDispose]());

let retrieved: string[] = [];
beforeEach(() => {
  retrieved = [];
});

/** Handles an event; `of` names its invoice, as events of payment intents do. */
async function happens(hint: EventHint, paymentId: string, of?: string, tries = 0) {
  const provider = {
    ...app.provider,
    retrieve(id: string, deployment?: string) {
      retrieved.push(id);
      return app.provider.retrieve(id, deployment);
    },
  };
  const stage = paymentEventStage({ ...app.parts, provider: unpaced(provider, { clock: app.clock }) });
  const event = { eventId: 'evt_1', hint, paymentId, ...(of === undefined ? {} : { invoiceId: of }) };
  const { input, resourceId } = eventItem(event);
  return stage.run(input, { resourceId, signal: new AbortController().signal, assertHeld() {}, tries });
}

function stripeOf() {
  const { secretKey, baseUrl: apiBase } = app.payments;
  return stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
}

type Subject = Awaited<ReturnType<typeof app.invoice>>;

/** Puts an invoice into a state, as if its outcome had been another. */
async function put(invoice: Subject, status: InvoiceStatus, what: string = status): Promise<void> {
  const { payment } = await invoice.stored();
  const { id: _, paidAt: __, inProgress: ___, ...rest } = payment;
  await app.world.container.item(invoice.id, invoice.shard).patch([
    { op: 'set', path: '/status', value: status },
    { op: 'set', path: '/payment', value: rest },
    { op: 'add', path: '/timeline/-', value: { at: new Date().toISOString(), what, by: 'test' } },
  ]);
}

async function paymentOf(invoice: Subject): Promise<string> {
  const { payment } = await invoice.stored();
  return payment.id ?? payment.inProgress?.id ?? '';
}

describe('what a hint is worth', () => {
  test('a payment that is recorded already is not retrieved', async () => {
    const invoice = await app.invoice();
    await invoice.pay();
    const id = await paymentOf(invoice);
    for (const hint of ['succeeded', 'alive', 'failed'] as const) {
      expect(await happens(hint, id, invoice.id)).toEqual({ result: 'nothing new' });
    }
    expect(retrieved).toEqual([]);
  });

  test('a debit that has ended is recorded at once, long before its next check', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_success' });
    await invoice.pay();
    const id = await paymentOf(invoice);
    expect(await happens('alive', id, invoice.id)).toEqual({ result: 'nothing new' });
    await app.clock.advance(5 * day);
    expect(await happens('succeeded', id, invoice.id)).toEqual({ result: 'recorded', status: 'paid' });
    expect(await happens('succeeded', id, invoice.id)).toEqual({ result: 'nothing new' });
    expect(retrieved).toEqual([id]);
    expect(await invoice.stored()).toMatchObject({ status: 'paid', payment: { id } });
  });

  test('an event is believed in nothing: the payment counts', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_success' });
    const { payment } = await invoice.pay();
    await happens('succeeded', await paymentOf(invoice), invoice.id);
    await happens('failed', await paymentOf(invoice), invoice.id);
    expect(await invoice.stored()).toMatchObject({ status: 'processing', payment });
  });

  test('refunds and disputes are recorded once, however many events tell', async () => {
    const invoice = await app.invoice();
    const { amountMinor } = await invoice.pay();
    const id = await paymentOf(invoice);
    await stripeOf().refunds.create({ payment_intent: id, amount: 5 });
    expect(await happens('reversed', id)).toEqual({ result: 'recorded', status: 'paid' });
    expect(await happens('reversed', id, invoice.id)).toEqual({ result: 'nothing new' });
    await app.local('disputes', { paymentIntent: id });
    expect(await happens('reversed', id)).toEqual({ result: 'recorded', status: 'paid' });
    expect(await invoice.stored()).toMatchObject({
      status: 'paid',
      reversals: { refundedMinor: 5, disputedMinor: expect.any(Number), refunds: [{ amountMinor: 5 }] },
    });
    expect(amountMinor).toBeGreaterThan(5);
    const ordered = await invoice.ordered();
    expect(ordered.toSorted()).toEqual(['invoice.disputed', 'invoice.paid', 'invoice.refunded', 'receipt']);
    expect(app.telemetry.reports.filter(({ name }) => name === metric.invoiceDisputed)).toMatchObject([
      { attributes: { kind: 'disputed' } },
    ]);
  });

  test('a refund before the settlement waits for it', async () => {
    const invoice = await app.invoice();
    await invoice.pay();
    const id = await paymentOf(invoice);
    await stripeOf().refunds.create({ payment_intent: id, amount: 5 });
    await put(invoice, 'claimed');
    await expect(happens('reversed', id)).rejects.toThrow(RetryLater);
  });

  test('a payment that is not ours, or not there, is left alone', async () => {
    expect(await happens('reversed', 'pi_nobody')).toMatchObject({ result: 'not ours' });
    expect(await happens('succeeded', 'pi_nobody', 'no-such-invoice', 1)).toMatchObject({
      result: 'not ours',
    });
  });

  test('that an invoice is not here may be a stale read: it is believed at the second try', async () => {
    await expect(happens('succeeded', 'pi_nobody', 'no-such-invoice')).rejects.toThrow(RetryLater);
    const { id: paymentId } = await stripeOf().paymentIntents.create({
      amount: 500,
      currency: 'usd',
      customer: 'cus_1',
      payment_method: 'pm_card_visa',
      allowed_payment_method_types: ['card'],
      confirm: true,
      off_session: true,
      metadata: { invoiceId: 'imported-a-moment-ago' },
    });
    await expect(happens('reversed', paymentId)).rejects.toThrow(RetryLater);
    expect(await happens('reversed', paymentId, undefined, 1)).toMatchObject({ result: 'not ours' });
  });

  test('if the provider cannot say, it is asked later', async () => {
    const silent = { ...stripeProvider({ secretKey: 'x', apiBase: 'http://127.0.0.1:9', timeoutMs: 50 }) };
    const stage = paymentEventStage({ ...app.parts, provider: unpaced(silent, { clock: app.clock }) });
    const context = { resourceId: 'pi_1', signal: new AbortController().signal, assertHeld() {} };
    await expect(stage.run({ hint: 'reversed' }, context)).rejects.toThrow(RetryLater);
  });
});

describe('a payment that its invoice knows nothing of', () => {
  test.each(['pending', 'parked', 'declined'] as const)(
    'that has succeeded: an invoice that is %s becomes paid, with one receipt',
    async (status) => {
      const invoice = await app.invoice();
      await invoice.pay();
      const id = await paymentOf(invoice);
      const before = await invoice.ordered();
      await put(invoice, status);
      expect(await happens('succeeded', id, invoice.id)).toEqual({ result: 'recorded', status: 'paid' });
      const after: Invoice = await invoice.stored();
      expect(after).toMatchObject({ status: 'paid', payment: { id } });
      expect(after.timeline.at(-1)).toMatchObject({ what: 'paid', paymentId: id });
      expect(after).not.toHaveProperty('actionableAt');
      expect(await invoice.ordered()).toHaveLength(2 * before.length);
      expect(await invoice.charges()).toHaveLength(1);
    },
  );

  test('that is alive: the invoice is processing', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_success' });
    await invoice.pay();
    const id = await paymentOf(invoice);
    await put(invoice, 'parked');
    expect(await happens('alive', id, invoice.id)).toEqual({ result: 'recorded', status: 'processing' });
    expect(await invoice.stored()).toMatchObject({ status: 'processing', payment: { inProgress: { id } } });
  });

  test('whose money has gone back: the invoice stays parked, and its timeline says so once', async () => {
    const invoice = await app.invoice();
    await invoice.pay();
    const id = await paymentOf(invoice);
    await stripeOf().refunds.create({ payment_intent: id });
    await put(invoice, 'parked');
    expect(await happens('reversed', id)).toEqual({ result: 'recorded', status: 'parked' });
    for (let n = 0; n < 3; n++) expect(await happens('reversed', id)).toEqual({ result: 'nothing new' });
    const { status, timeline } = await invoice.stored();
    expect(status).toBe('parked');
    expect(timeline.filter(({ what }) => what === 'looked up')).toHaveLength(1);
  });

  test('of an invoice that a person has voided: it is parked for that person, and never made paid', async () => {
    const invoice = await app.invoice();
    await invoice.pay();
    const id = await paymentOf(invoice);
    await put(invoice, 'voided');
    expect(await happens('succeeded', id, invoice.id)).toEqual({ result: 'recorded', status: 'parked' });
    const parked = await invoice.stored();
    expect(parked).toMatchObject({
      status: 'parked',
      reason: `it was voided, but payment ${id} has succeeded: retry the invoice to record it, after which it can be refunded`,
    });
    expect(await happens('alive', id, invoice.id)).toEqual({ result: 'nothing new' });
    expect(await invoice.stored()).toEqual(parked);

    await put(invoice, 'pending', 'retried');
    expect(await happens('succeeded', id, invoice.id)).toEqual({ result: 'recorded', status: 'paid' });
  });

  test('that has failed changes nothing, and is not retrieved', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_card_chargeDeclinedLostCard' });
    const declined = await invoice.pay();
    expect(declined.status).toBe('declined');
    expect(await happens('failed', 'pi_1', invoice.id)).toEqual({ result: 'nothing new' });
    expect(await invoice.stored()).toEqual(declined);
    expect(retrieved).toEqual([]);
  });
});
