/**
 * The provider's search shows a payment only some time after the charge. For as long, finding none proves nothing: whoever
 * trusts it charges again, or gives a payment up for not made that was.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Charge, startPayments } from '../../local/stripe/index.ts';
import { NotReconciled, reconcileStage } from '../../src/followUps/reconcileStage.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { executeBatch } from '../../src/paying/payBatch.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { stripeProvider } from '../../src/paying/stripe/stripeProvider.ts';
import { hour, type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { virtualClock } from '../support/virtualClock.ts';

const searchLagMs = 60_000;

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** One due invoice and a provider whose search lags. Both live on a clock that starts now, when its key is made. */
async function anInvoice(paymentMethod = 'pm_card_visa') {
  const clock = virtualClock(Date.now());
  const payments = await startPayments({ searchLagMs, clock });
  const { secretKey, baseUrl: apiBase } = payments;
  const provider = stripeProvider({ secretKey, apiBase, timeoutMs: 10_000 });
  const { shard, ids } = await world.dueInvoices(1, { paymentMethod });
  const [id = ''] = ids;
  const sought = async (): Promise<Invoice> => {
    const [invoice] = await world.stored(shard, ids);
    if (invoice === undefined) throw new Error('no such invoice');
    return invoice;
  };
  const stage = reconcileStage({
    container: world.container,
    provider,
    clock,
    by: 'host-r',
    notifies: false,
  });
  return {
    clock,
    /** Claims it, however long it was to wait, and pays; then it is read. */
    async pay(): Promise<Invoice> {
      await world.makeDue(shard, ids);
      const { message } = await world.claimDue(shard);
      const { dependencies } = world.consumer({ provider, clock });
      await executeBatch(dependencies, paymentBatchSchema.parse(message?.body));
      return sought();
    },
    /** Looks it up, as its work item does when it is parked. */
    reconcile: () =>
      stage.run(
        { shard, keyNumber: 1 },
        { resourceId: id, signal: new AbortController().signal, assertHeld() {} },
      ),
    stored: sought,
    /** What the provider's search finds. */
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

test('a failure that is remembered after the charge: not found at once is not believed, later it is paid', async () => {
  await using invoice = await anInvoice('pm_local_serverErrorAfterCharge');
  await invoice.pay();
  const [charge] = await invoice.charges();

  const unsure = await invoice.pay();
  expect(await invoice.find()).toEqual({ kind: 'notFound' });
  expect(unsure).toMatchObject({
    status: 'pending',
    payment: { keyNumber: 1, declines: 0, unknownSince: expect.any(String) },
  });
  // It comes again when the search can know.
  const waitMs = Date.parse(unsure.actionableAt ?? '') - invoice.clock.now();
  expect(waitMs).toBeGreaterThan(searchLagMs);

  await invoice.clock.advance(waitMs);
  expect(await invoice.pay()).toMatchObject({ status: 'paid', payment: { id: charge?.paymentIntent } });
  expect(await invoice.charges()).toEqual([charge]);
});

test('a key that grew too old right after a charge whose answer was lost: looked up until it is found', async () => {
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
    status: 'parked',
    payment: { keyNumber: 1, unknownSince: expect.any(String) },
  });
  await expect(invoice.reconcile()).rejects.toThrow(NotReconciled);
  // Nothing is noted as an answer, either.
  expect(await invoice.stored()).toEqual(unsure);

  await invoice.clock.advance(searchLagMs);
  expect(await invoice.reconcile()).toMatchObject({ result: 'paid' });
  expect(await invoice.stored()).toMatchObject({ status: 'paid', payment: { id: charge?.paymentIntent } });
  expect(await invoice.charges()).toEqual([charge]);
});
