// Each way in which an invoice is parked or declined, and a call that its reason names: the call ends the state.
import type Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventItem, paymentEventStage } from '../../src/after/eventStage.ts';
import { decideRetry } from '../../src/after/retryInvoice.ts';
import { decideVoid } from '../../src/after/voidInvoice.ts';
import { advice } from '../../src/invoice/advice.ts';
import { type Invoice, maxAttempts } from '../../src/invoice/invoice.ts';
import { callsOverMs } from '../../src/paying/payingPolicy.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { correctedInvoices } from '../support/correctedInvoices.ts';
import { day, longPayments } from '../support/longPayments.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
let corrected: ReturnType<typeof correctedInvoices>;
let stripe: Stripe;
beforeAll(async () => {
  app = await longPayments({ searchLagMs: 0 });
  corrected = correctedInvoices(app);
  const { secretKey, baseUrl: apiBase } = app.payments;
  stripe = stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
});
afterAll(() => app[Symbol.asyncDispose]());

type Subject = Awaited<ReturnType<typeof app.invoice>>;

/** Changes an invoice as it is stored. */
async function put({ id, shard }: Subject, changes: Partial<Invoice>): Promise<void> {
  const set = Object.entries(changes).map(([name, value]) => ({
    op: 'set' as const,
    path: `/${name}`,
    value: value as unknown,
  }));
  await app.world.container.item(id, shard).patch(set);
}

/** Somebody pays past the app, and an event tells. */
async function paidElsewhere(
  invoice: Subject,
  amount?: number,
  [method, type] = ['pm_card_visa', 'card'],
): Promise<string> {
  const { amountMinor, currency, customerId } = await invoice.stored();
  const { id: paymentId } = await stripe.paymentIntents.create({
    amount: amount ?? amountMinor,
    currency: currency.toLowerCase(),
    customer: customerId,
    payment_method: method,
    allowed_payment_method_types: [type],
    confirm: true,
    off_session: true,
    metadata: { invoiceId: invoice.id },
  });
  const event = { eventId: `evt_${paymentId}`, hint: 'succeeded' as const, paymentId, invoiceId: invoice.id };
  const { input, resourceId } = eventItem(event);
  await paymentEventStage(app.parts).run(input, {
    resourceId,
    signal: new AbortController().signal,
    assertHeld() {},
  });
  return paymentId;
}

async function debitAfterVoid(): Promise<Subject> {
  const invoice = await app.invoice();
  await corrected.void(invoice.id);
  await paidElsewhere(invoice, undefined, ['pm_usBankAccount_accountClosed', 'us_bank_account']);
  return invoice;
}

const later = () => app.clock.advance(callsOverMs);
const voids = async ({ id }: Subject) => {
  await later();
  expect(await corrected.void(id)).toMatchObject({ kind: 'voided' });
};
const retries = async ({ id }: Subject, wish: Parameters<typeof corrected.retry>[1] = {}) => {
  await later();
  expect(await corrected.retry(id, wish)).toMatchObject({ kind: 'retried' });
};
const records = async ({ id }: Subject) =>
  expect(await corrected.retry(id)).toMatchObject({ kind: 'recorded', status: 'paid' });

/** Ways in which an invoice comes to wait for a person, its reason, and each call that the reason names. */
const states: Record<
  string,
  {
    make: () => Promise<Subject>;
    says: RegExp;
    ends: Record<string, (invoice: Subject) => Promise<unknown>>;
  }
> = {
  'the outcome is unknown after the last attempt': {
    async make() {
      const invoice = await app.invoice({
        attempts: maxAttempts - 1,
        paymentMethod: 'pm_local_resetBeforeCharge',
      });
      await invoice.pay();
      return invoice;
    },
    says: /still unknown.*; retry it .*void it or retry it with notCharged/,
    ends: {
      retry: (invoice) => retries(invoice),
      void: voids,
      'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }),
    },
  },
  'claims came to nothing': {
    async make() {
      const invoice = await app.invoice({ attempts: maxAttempts });
      await app.world.claimDue(invoice.shard);
      return invoice;
    },
    says: /attempts ended without a known outcome; retry it .*void it or retry it with notCharged/,
    ends: { retry: (invoice) => retries(invoice), void: voids },
  },
  'the provider refuses the request': {
    async make() {
      const invoice = await app.invoice({ paymentMethod: 'pm_card_misspelt' });
      await invoice.pay();
      return invoice;
    },
    says: /; retry it with another paymentMethod, or void it/,
    ends: {
      async 'retry with another paymentMethod'(invoice) {
        await retries(invoice, { paymentMethod: 'pm_card_visa' });
        expect(await invoice.pay()).toMatchObject({ status: 'paid' });
      },
      void: voids,
    },
  },
  'the provider refuses the request, and an earlier call may have charged': {
    async make() {
      const at = new Date(app.clock.now()).toISOString();
      const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: at, unknownSince: at };
      const invoice = await app.invoice({ paymentMethod: 'pm_card_misspelt', payment });
      await invoice.pay();
      return invoice;
    },
    says: /; void it, or retry it with notCharged/,
    ends: { void: voids, 'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }) },
  },
  'the key stands for other parameters': {
    async make() {
      const invoice = await app.invoice();
      const at = new Date(app.clock.now()).toISOString();
      const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: at, paramsHash: '2.other' };
      await put(invoice, { payment });
      await invoice.pay();
      return invoice;
    },
    says: /sent with other parameters.*; void it, or retry it with notCharged/,
    ends: {
      void: voids,
      async 'retry with notCharged'(invoice) {
        await retries(invoice, { notCharged: true });
        expect(await invoice.pay()).toMatchObject({ status: 'paid' });
      },
    },
  },
  'the payment under its key has gone back in full': {
    async make() {
      const invoice = await app.invoice();
      const { id: paymentId = '', paidAt: _, ...payment } = (await invoice.pay()).payment;
      await stripe.refunds.create({ payment_intent: paymentId });
      // As if the settlement had been lost: its key is sent again, and answered as before.
      const at = new Date(app.clock.now()).toISOString();
      await put(invoice, { status: 'pending', actionableAt: at, payment });
      await invoice.pay();
      return invoice;
    },
    says: /; void it; to charge the customer anew, import a new invoice/,
    ends: { void: voids },
  },
  'a payment of another amount names it': {
    async make() {
      const invoice = await app.invoice();
      await paidElsewhere(invoice, 77);
      return invoice;
    },
    says: /void the invoice .* retry it with notCharged/,
    ends: { void: voids, 'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }) },
  },
  'somebody has paid it after it was voided': {
    async make() {
      const invoice = await app.invoice();
      await corrected.void(invoice.id);
      await paidElsewhere(invoice);
      return invoice;
    },
    says: /retry the invoice to record it/,
    ends: { retry: records },
  },
  'somebody pays it by a debit after it was voided': {
    make: debitAfterVoid,
    says: /void it again, which cancels the payment if that is possible/,
    ends: {
      void: voids,
      // It is followed, and fails: nothing is charged without another word.
      async retry(invoice) {
        expect(await corrected.retry(invoice.id)).toMatchObject({ kind: 'recorded', status: 'processing' });
        await app.pass(14 * day);
        expect(await invoice.stored()).toMatchObject({ status: 'parked', payment: { keyNumber: 1 } });
        await voids(invoice);
      },
      // The debit has failed, and nobody has told us: a retry to record it charges nothing.
      async 'retry too late'(invoice) {
        await app.clock.advance(14 * day);
        expect(await corrected.retry(invoice.id)).toMatchObject({
          kind: 'unclear',
          message: expect.stringMatching(/void it again, or retry it with notCharged/) as string,
        });
        await voids(invoice);
      },
    },
  },
  'its payment has ended without money, and there is another': {
    async make() {
      const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_accountClosed' });
      await invoice.pay();
      await paidElsewhere(invoice);
      await app.pass(14 * day);
      return invoice;
    },
    says: /retry it, which asks about that one first/,
    ends: { retry: records },
  },
  'the provider has never known its customer': {
    make: () => keyTooOld('cus_missing_x'),
    says: /does not know customer cus_missing_x: void the invoice, or retry it with notCharged/,
    ends: { void: voids, 'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }) },
  },
  'its customer was deleted at the provider': {
    make: () => keyTooOld('cus_deleted_x'),
    says: /customer cus_deleted_x was deleted at the provider: void the invoice, or retry it with notCharged/,
    ends: { void: voids, 'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }) },
  },
  'the bank has declined it': {
    async make() {
      const invoice = await app.invoice({ paymentMethod: 'pm_card_chargeDeclinedExpiredCard' });
      await invoice.pay();
      return invoice;
    },
    says: /expired/,
    ends: {
      retry: (invoice) => retries(invoice),
      async 'retry with another paymentMethod'(invoice) {
        await retries(invoice, { paymentMethod: 'pm_card_visa' });
        expect(await invoice.pay()).toMatchObject({ status: 'paid' });
      },
      void: voids,
    },
  },
  'it has no payment method, because its customer was deleted': {
    async make() {
      const invoice = await app.invoice({ customerId: 'cus_deleted_y' });
      await app.world.container
        .item(invoice.id, invoice.shard)
        .patch([{ op: 'remove', path: '/paymentMethod' }]);
      await invoice.pay();
      return invoice;
    },
    says: /no_payment_method: customer cus_deleted_y was deleted/,
    ends: {
      void: voids,
      'retry with a paymentMethod': (one) => retries(one, { paymentMethod: 'pm_card_visa' }),
    },
  },
  'the provider no longer knows a payment that it names': {
    async make() {
      const invoice = await corrected.parked();
      const { timeline } = await invoice.stored();
      const at = new Date(app.clock.now()).toISOString();
      await put(invoice, {
        timeline: [...timeline, { at, what: 'second payment', by: 'x', paymentId: 'pi_gone' }],
      });
      return invoice;
    },
    says: /still unknown/,
    ends: { void: voids, 'retry with notCharged': (invoice) => retries(invoice, { notCharged: true }) },
  },
};

/** An invoice whose call may have charged, and whose key has grown too old to be sent. */
async function keyTooOld(customerId: string): Promise<Subject> {
  const old = new Date(app.clock.now() - day).toISOString();
  const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: old, unknownSince: old };
  const invoice = await app.invoice({ customerId, payment });
  await invoice.pay();
  return invoice;
}

const cases = Object.entries(states).flatMap(([state, { make, says, ends }]) =>
  Object.entries(ends).map(([how, end]) => ({ state, how, make, says, end })),
);

describe('an invoice that waits for a person', () => {
  test.each(cases)('because $state: $how ends that', async ({ make, says, end }) => {
    const invoice = await make();
    const before = await invoice.stored();
    expect(['parked', 'declined']).toContain(before.status);
    expect(before.reason).toMatch(says);
    const charged = (await invoice.charges()).length;
    await end(invoice);
    const { status } = await invoice.stored();
    expect(status).not.toBe(before.status);
    // Advice charges nothing by itself; only a new charge that a person asked for does.
    expect((await invoice.charges()).length - charged).toBe(status === 'paid' && charged === 0 ? 1 : 0);
  });

  test('each advice of the app is followed in one of these states', async () => {
    const reasons: string[] = [];
    for (const { make } of Object.values(states)) reasons.push((await (await make()).stored()).reason ?? '');
    for (const text of Object.values(advice))
      expect(reasons.some((reason) => reason.endsWith(text))).toBe(true);
  });
});

test('whatever a parked or declined invoice has behind it, a retry with notCharged and a void are decided, not refused', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const key = { keyNumber: 1, declines: 0, deferrals: 0 };
  const payments = [key, { ...key, keyCreatedAt: at }, { ...key, keyCreatedAt: at, unknownSince: at }];
  const timelines = [[], [{ at, what: 'second payment', by: 'x', paymentId: 'pi_1' }]];
  for (const status of ['parked', 'declined'] as const)
    for (const payment of payments)
      for (const timeline of timelines) {
        const invoice = anInvoice({ status, payment, timeline });
        expect(['retry', 'check']).toContain(decideRetry(invoice, { notCharged: true }).kind);
        expect(['void', 'check']).toContain(decideVoid(invoice).kind);
      }
});
