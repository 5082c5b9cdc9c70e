/**
 * The provider's search lags behind the charge. Until it catches up, "not found" proves nothing: code that trusted it
 * would charge twice, or record a charged invoice as not charged. The customer's list does not lag.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Charge, startPayments } from '../../local/stripe/index.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { hour, type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { virtualClock } from '../support/virtualClock.ts';

const searchLagMs = 60_000;

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** One due invoice and a provider whose search lags; with `lists`, the payments of its customer are listed, too. Their shared clock starts now, when the key is created. */
async function anInvoice(paymentMethod = 'pm_card_visa', { lists = false } = {}) {
  const clock = virtualClock(Date.now());
  const payments = await startPayments({ searchLagMs, clock });
  const { secretKey, baseUrl: apiBase } = payments;
  const stripe = stripeProvider({ secretKey, apiBase, timeoutMs: 10_000 });
  const searchOnly: PaymentProvider = {
    ...stripe,
    find: ({ invoiceId, amountMinor, currency, customerId }) =>
      stripe.find({ invoiceId, amountMinor, currency, customerId }),
  };
  const provider = lists ? stripe : searchOnly;
  const { shard, ids } = await world.dueInvoices(1, { paymentMethod });
  const [id = ''] = ids;
  const sought = async (): Promise<Invoice> => {
    const [invoice] = await world.stored(shard, ids);
    if (invoice === undefined) throw new Error('no such invoice');
    return invoice;
  };
  return {
    clock,
    /** Claims the invoice however long it still had to wait, pays it and reads it. */
    async pay(): Promise<Invoice> {
      await world.makeDue(shard, ids);
      const { message } = await world.claimDue(shard);
      await world.consumer({ provider, clock }).pay(paymentBatchSchema.parse(message?.body));
      return sought();
    },
    find: async () => provider.find({ ...(await sought()), invoiceId: id }),
    async charges(): Promise<Charge[]> {
      const rows = (await (await fetch(`${payments.baseUrl}/_local/charges`)).json()) as Charge[];
      return rows.filter(({ invoiceId }) => invoiceId === id);
    },
    async meets(kind: 'reset-before' | 'reset-after'): Promise<void> {
      const body = JSON.stringify({ kind, filter: { invoiceId: id } });
      await fetch(`${payments.baseUrl}/_local/faults`, { method: 'POST', body });
    },
    [Symbol.asyncDispose]: () => payments.stop(),
  };
}

test('a remembered failure after the charge: an early "not found" is not trusted, and the invoice ends up paid', async () => {
  await using invoice = await anInvoice('pm_local_serverErrorAfterCharge');
  await invoice.pay();
  const [charge] = await invoice.charges();

  const unsure = await invoice.pay();
  expect(await invoice.find()).toEqual({ kind: 'notFound' });
  expect(unsure).toMatchObject({
    status: 'pending',
    payment: { keyNumber: 1, declines: 0, unknownSince: expect.any(String) },
  });

  await invoice.clock.advance(searchLagMs);
  expect(await invoice.pay()).toMatchObject({ status: 'paid', payment: { id: charge?.paymentIntent } });
  expect(await invoice.charges()).toEqual([charge]);
});

test('a key that expires right after a charge whose answer was lost: the payment is looked up until it is found', async () => {
  await using invoice = await anInvoice();
  await invoice.meets('reset-before');
  await invoice.pay();
  await invoice.clock.advance(23 * hour - 1_000);
  await invoice.meets('reset-after');
  await invoice.pay();
  const [charge] = await invoice.charges();
  expect(charge).toBeDefined();

  await invoice.clock.advance(30_000);
  const unsure = await invoice.pay();
  expect(await invoice.find()).toEqual({ kind: 'notFound' });
  expect(unsure).toMatchObject({
    status: 'pending',
    payment: { keyNumber: 1, unknownSince: expect.any(String), noneFoundAt: expect.any(String) },
  });
  const waitMs = Date.parse(unsure.actionableAt ?? '') - invoice.clock.now();
  expect(waitMs).toBeGreaterThan(searchLagMs);

  await invoice.clock.advance(waitMs);
  expect(await invoice.pay()).toMatchObject({ status: 'paid', payment: { id: charge?.paymentIntent } });
  expect(await invoice.charges()).toEqual([charge]);
});

test('a remembered failure after the charge is found in the list of the customer at once', async () => {
  await using invoice = await anInvoice('pm_local_serverErrorAfterCharge', { lists: true });
  await invoice.pay();
  const [charge] = await invoice.charges();
  expect(await invoice.pay()).toMatchObject({ status: 'paid', payment: { id: charge?.paymentIntent } });
  expect(await invoice.charges()).toEqual([charge]);
});
