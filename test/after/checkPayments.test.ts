import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkPayments } from '../../src/after/checkPayments.ts';
import { trackPayment } from '../../src/after/trackPayment.ts';
import type { CancelOutcome, PaymentProgress, RetrievedPayment } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { day, longPayments } from '../support/longPayments.ts';
import { hour, minute } from '../support/payingWorld.ts';
import { unpaced } from '../support/unpaced.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
beforeAll(async () => {
  app = await longPayments();
});
afterAll(() => app[Symbol.asyncDispose]());

describe('a payment that takes its time', () => {
  test.each([
    ['a card that is processing', 'pm_card_local_processingSucceeds', 'USD', hour],
    ['a SEPA debit', 'pm_sepaDebit_success_de', 'EUR', 6 * day],
    ['the slowest SEPA debit', 'pm_sepaDebit_successDelayed_de', 'EUR', 15 * day],
    ['an ACH debit', 'pm_usBankAccount_success', 'USD', 5 * day],
    ['a Bacs debit', 'pm_bacsDebit_success', 'GBP', 5 * day],
  ])('%s is charged once, and paid when it ends', async (_, paymentMethod, currency, after) => {
    const invoice = await app.invoice({ paymentMethod, currency });
    const begun = await invoice.pay();
    expect(begun).toMatchObject({
      status: 'processing',
      payment: {
        keyNumber: 1,
        inProgress: { id: expect.stringMatching(/^pi_/), state: 'processing', checks: 0 },
      },
      timeline: expect.arrayContaining([expect.objectContaining({ what: 'processing' })]),
    });
    expect(begun).not.toHaveProperty('actionableAt');
    expect(begun).not.toHaveProperty('payment.unknownSince');
    expect(await invoice.charges()).toEqual([]);
    expect(await invoice.ordered()).toEqual([]);

    await app.pass(after);
    const paid = await invoice.stored();
    expect(paid).toMatchObject({
      status: 'paid',
      payment: { id: begun.payment.inProgress?.id, keyNumber: 1 },
    });
    expect(paid).not.toHaveProperty('payment.inProgress');
    expect(paid).not.toHaveProperty('checkAt');
    expect(await invoice.charges()).toHaveLength(1);
    expect((await invoice.ordered()).toSorted()).toEqual(['invoice.paid', 'receipt']);
  });

  test.each([
    ['pm_usBankAccount_accountClosed', 'USD', 'account_closed'],
    ['pm_usBankAccount_noAccount', 'USD', 'no_account'],
    ['pm_usBankAccount_debitNotAuthorized', 'USD', 'debit_not_authorized'],
    ['pm_bacsDebit_debitNotAuthorized', 'GBP', 'debit_not_authorized'],
    // Here only the charge tells the bank's reason.
    ['pm_sepaDebit_failed_de', 'EUR', 'incorrect_account_holder_name'],
  ])('%s ends as a hard decline with the bank’s reason', async (paymentMethod, currency, code) => {
    const invoice = await app.invoice({ paymentMethod, currency });
    await invoice.pay();
    await app.pass(15 * day);
    expect(await invoice.stored()).toMatchObject({
      status: 'declined',
      reason: expect.stringMatching(`^${code}: `),
      declinedAt: expect.any(String),
    });
    expect(await invoice.charges()).toEqual([]);
    expect(await invoice.ordered()).toEqual(['invoice.declined']);
  });

  test('one that fails for lack of funds is tried again with the next key, on the schedule', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_usBankAccount_insufficientFunds' });
    const [first] = [await invoice.pay()];
    await app.pass(5 * day);
    const waiting = await invoice.stored();
    expect(waiting).toMatchObject({
      status: 'pending',
      payment: { keyNumber: 2, declines: 1 },
      attempts: 0,
    });
    expect(Date.parse(waiting.actionableAt ?? '') - app.clock.now()).toBe(day);
    const again = await invoice.pay();
    expect(again).toMatchObject({ status: 'processing', payment: { keyNumber: 2 } });
    expect(again.payment.inProgress?.id).not.toBe(first?.payment.inProgress?.id);
  });
});

test('it is asked about after a minute, then less and less often', async () => {
  const invoice = await app.invoice({ paymentMethod: 'pm_card_local_processing' });
  const { payment } = await invoice.pay();
  const waits: number[] = [];
  for (let n = 0; n < 10; n++) {
    const { checkAt = '' } = await invoice.stored();
    const wait = Date.parse(checkAt) - app.clock.now();
    waits.push(wait / minute);
    await app.pass(wait);
  }
  expect(waits).toEqual([1, 2, 5, 15, 60, 120, 240, 360, 360, 360]);
  expect(await invoice.stored()).toMatchObject({
    status: 'processing',
    payment: { keyNumber: 1, inProgress: { id: payment.inProgress?.id, checks: 10 } },
  });
});

test('repeating the key of one in progress changes nothing: the claim after a crash finds it processing', async () => {
  const invoice = await app.invoice({ paymentMethod: 'pm_sepaDebit_success_de', currency: 'EUR' });
  const { payment } = await invoice.pay();
  // As if the first settlement had been lost: pending again, under the same key, with calls that may have charged.
  const { inProgress, ...key } = payment;
  await app.world.container.item(invoice.id, invoice.shard).patch([
    { op: 'set', path: '/status', value: 'pending' },
    { op: 'set', path: '/actionableAt', value: '2026-01-01T00:00:00.000Z' },
    { op: 'set', path: '/payment', value: { ...key, unknownSince: payment.keyCreatedAt } },
  ]);
  expect(await invoice.pay()).toMatchObject({
    status: 'processing',
    payment: { keyNumber: 1, inProgress: { id: inProgress?.id } },
  });
  // The key repeats its first answer even after the end; the payment itself says more.
  await app.pass(6 * day);
  expect(await invoice.stored()).toMatchObject({ status: 'paid', payment: { id: inProgress?.id } });
  expect(await invoice.charges()).toHaveLength(1);
});

test('one in progress that nobody recorded is found when its key has grown too old: never a second charge', async () => {
  const invoice = await app.invoice({ paymentMethod: 'pm_sepaDebit_success_de', currency: 'EUR' });
  const { payment } = await invoice.pay();
  const { inProgress, ...key } = payment;
  const old = new Date(app.clock.now() - 24 * hour).toISOString();
  await app.world.container.item(invoice.id, invoice.shard).patch([
    { op: 'set', path: '/status', value: 'pending' },
    { op: 'set', path: '/actionableAt', value: '2026-01-01T00:00:00.000Z' },
    { op: 'set', path: '/payment', value: { ...key, keyCreatedAt: old, unknownSince: old } },
  ]);
  expect(await invoice.pay()).toMatchObject({
    status: 'processing',
    payment: { inProgress: { id: inProgress?.id } },
  });
});

/** A payment in progress that is as given until it is canceled, which does what `cancels` says, if anything. */
async function shownAs(progress: PaymentProgress, cancels: CancelOutcome) {
  const invoice = await app.invoice({ paymentMethod: 'pm_card_local_processing' });
  const { payment } = await invoice.pay();
  const id = payment.inProgress?.id ?? '';
  const { customerId, amountMinor, currency } = await invoice.stored();
  const asked: string[] = [];
  let canceled = false;
  const provider = unpaced(
    {
      ...app.provider,
      async retrieve() {
        asked.push('retrieve');
        return {
          kind: 'payment',
          paymentId: id,
          invoiceId: invoice.id,
          madeBy: 'us',
          customerId,
          amountMinor,
          currency,
          progress: canceled ? { kind: 'canceled' } : progress,
          reversals: { refunds: [], disputes: [] },
        };
      },
      async cancel() {
        asked.push('cancel');
        canceled = cancels.kind === 'canceled';
        return cancels;
      },
    },
    { clock: app.clock },
  );
  return { invoice, asked, track: () => trackPayment({ ...app.parts, provider }, id) };
}

test('one that waits for a customer who is not there is canceled', async () => {
  const waiting = { kind: 'alive', state: 'requires_action', waitsForCustomer: true } as const;
  const { track, asked } = await shownAs(waiting, { kind: 'canceled' });
  expect(await track()).toEqual({ kind: 'changed', status: 'declined' });
  expect(asked).toEqual(['retrieve', 'cancel', 'retrieve']);
});

describe('one that has failed, and could be confirmed once more', () => {
  const failed = { kind: 'failed', severity: 'soft', code: 'insufficient_funds', message: 'none' } as const;

  test.each<[CancelOutcome, string]>([
    [{ kind: 'canceled' }, 'pending'],
    [{ kind: 'refused', message: 'it cannot be canceled' }, 'pending'],
    [{ kind: 'unknown', message: '403', answered: true }, 'pending'],
  ])('is canceled (%o), and makes way for the next key', async (cancels, status) => {
    const { track, invoice } = await shownAs(failed, cancels);
    expect(await track()).toEqual({ kind: 'changed', status });
    expect((await invoice.stored()).payment.keyNumber).toBe(2);
  });

  test.each<CancelOutcome>([
    { kind: 'unknown', message: 'no answer in time' },
    { kind: 'blocked', message: 'most calls fail', retryAfterMs: 1_000 },
  ])('stays in progress while nobody knows if it is canceled: %o', async (cancels) => {
    const { track, invoice } = await shownAs(failed, cancels);
    expect(await track()).toMatchObject({ kind: 'notAsked' });
    expect(await invoice.stored()).toMatchObject({ status: 'processing', payment: { keyNumber: 1 } });
  });
});

describe('a round', () => {
  /** Rounds over pages that the store gives one after the other, at a provider that answers so. */
  async function round(retrieved: RetrievedPayment) {
    const [one, other] = [await app.invoice(), await app.invoice()];
    const pages = await Promise.all(
      [one, other].map(async ({ id, stored }) => {
        const inProgress = {
          id: `pi_${id}`,
          state: 'processing',
          since: '2026-01-01T00:00:00.000Z',
          checks: 0,
        };
        const { payment, ...rest } = await stored();
        return [{ ...rest, status: 'processing' as const, payment: { ...payment, inProgress } }];
      }),
    );
    const provider = unpaced({ ...app.provider, retrieve: async () => retrieved }, { clock: app.clock });
    const invoices = { ...app.parts.invoices, toCheck: async () => pages.shift() ?? [] };
    return checkPayments(
      { ...app.parts, provider, invoices },
      { assertHeld() {} },
      new AbortController().signal,
    );
  }

  test('goes on to the next page', async () => {
    expect(await round({ kind: 'notFound' })).toMatchObject({ notOurs: 2 });
  });

  test('ends with a page of which nothing could be asked', async () => {
    expect(await round({ kind: 'unknown', message: 'no answer' })).toMatchObject({ notAsked: 1 });
  });
});

describe('what cannot be asked now', () => {
  test('a provider that is away: nothing changes, and the round ends', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_card_local_processing' });
    const before = await invoice.pay();
    const away = stripeProvider({ secretKey: 'sk_test_x', apiBase: 'http://127.0.0.1:1', timeoutMs: 500 });
    await app.clock.advance(hour);
    const parts = { ...app.parts, provider: unpaced(away, { clock: app.clock }) };
    const counts = await checkPayments(parts, { assertHeld() {} }, new AbortController().signal);
    expect(counts.notAsked).toBeGreaterThan(0);
    expect(counts.changed).toBe(0);
    expect(await invoice.stored()).toEqual(before);
  });

  test('a payment that the provider does not know stays in progress, is asked about later, and is counted', async () => {
    const invoice = await app.invoice({ paymentMethod: 'pm_card_local_processing' });
    const { payment } = await invoice.pay();
    const lost = { ...payment, inProgress: { ...payment.inProgress, id: 'pi_of_another_account' } };
    await app.world.container
      .item(invoice.id, invoice.shard)
      .patch([{ op: 'set', path: '/payment', value: lost }]);
    expect(await app.pass(hour)).toMatchObject({ notOurs: 1 });
    const after = await invoice.stored();
    expect(after).toMatchObject({ status: 'processing', payment: lost });
    expect(Date.parse(after.checkAt ?? '')).toBeGreaterThan(app.clock.now());
    expect(app.telemetry.reports).toContainEqual(
      expect.objectContaining({ name: metric.paymentChecked, attributes: { outcome: 'notOurs' } }),
    );
  });

  test('a round under a lease that is lost stops', async () => {
    const lost = new Error('the lease is lost');
    const assertHeld = () => {
      throw lost;
    };
    await expect(checkPayments(app.parts, { assertHeld }, new AbortController().signal)).rejects.toBe(lost);
  });
});
