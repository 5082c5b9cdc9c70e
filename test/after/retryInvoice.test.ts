import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RetryWish, retryInvoice } from '../../src/after/retryInvoice.ts';
import type { Invoice, PaymentState } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { methodTypes, paramsHash } from '../../src/paying/idempotencyKey.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { correctionParts } from '../support/correctionParts.ts';
import { withBatch } from '../support/layerSwitches.ts';
import {
  hastyClock,
  hour,
  type PayingWorld,
  payingWorld,
  shards,
  watchedProvider,
} from '../support/payingWorld.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** An invoice in a final status, and what the next run and its consumer make of it after a retry. */
async function ended(changes: Partial<Invoice>, waits: Pick<Invoice, 'actionableAt'> = {}) {
  const { shard, ids } = await world.dueInvoices(1, changes);
  const [id = ''] = ids;
  const { actionableAt: _, ...content } = (await world.stored(shard, ids))[0] as Invoice;
  await world.container.item(id, shard).replace({ ...content, ...waits });
  return {
    id,
    shard,
    retry: (container = world.container, wish: RetryWish = {}) =>
      retryInvoice(
        correctionParts({
          invoices: cosmosInvoiceStore(container, { clock: hastyClock, shards }),
          provider: world.provider,
        }),
        id,
        { actor: 'ada', reason: 'card renewed', ...wish },
      ),
    async pay() {
      const { message } = await world.claimDue(shard);
      const { provider, calls } = watchedProvider(world.provider);
      const batch = paymentBatchSchema.parse(message?.body);
      await world.consumer({ provider }).pay(batch);
      return calls;
    },
    stored: async () => (await world.stored(shard, ids))[0],
    charges: () => world.charges(ids),
  };
}

/** A payment whose key was created `ageMs` milliseconds ago. */
function keyOf(ageMs: number, changes: Partial<PaymentState> = {}): PaymentState {
  const content = { customerId: 'cus_1', amountMinor: 1_000, currency: 'USD', paymentMethod: 'pm_card_visa' };
  return {
    keyNumber: 1,
    declines: 0,
    deferrals: 0,
    keyCreatedAt: new Date(hastyClock.now() - ageMs).toISOString(),
    paramsHash: paramsHash(content),
    ...changes,
  };
}

const parked = { status: 'parked', reason: 'the outcome is still unknown', attempts: 5 } as const;
const charge = (invoiceId: string, idempotencyKey: string) =>
  world.provider.charge({
    invoiceId,
    customerId: 'cus_1',
    amountMinor: 1_000,
    currency: 'USD',
    paymentMethod: 'pm_card_visa',
    methodTypes,
    idempotencyKey,
    deployment: 'tests',
  });

test('a parked invoice charged without our knowledge is retried under its key: one charge', async () => {
  const invoice = await ended({ ...parked, payment: keyOf(hour) });
  await charge(invoice.id, `invoice-${invoice.id}-1`);
  expect(await invoice.retry()).toMatchObject({ kind: 'retried', from: 'parked' });
  expect(await invoice.stored()).toMatchObject({ status: 'pending', attempts: 0 });
  expect(await invoice.stored()).not.toHaveProperty('reason');
  const calls = await invoice.pay();
  expect(calls.charge).toEqual([`invoice-${invoice.id}-1`]);
  expect(await invoice.stored()).toMatchObject({ status: 'paid' });
  expect(await invoice.charges()).toHaveLength(1);
});

test('a payment with a key older than 23 h is looked up and never sent', async () => {
  const invoice = await ended({ ...parked, payment: keyOf(24 * hour) });
  await charge(invoice.id, 'long ago');
  await invoice.retry();
  expect(await invoice.pay()).toEqual({ charge: [], find: [expect.anything()] });
  expect(await invoice.stored()).toMatchObject({ status: 'paid' });
  expect(await invoice.charges()).toHaveLength(1);
});

test('after a decline the next key is charged', async () => {
  const declined = { status: 'declined', reason: 'expired_card: expired' } as const;
  const invoice = await ended({ ...declined, attempts: 1, payment: keyOf(24 * hour, { declines: 3 }) });
  await invoice.retry();
  expect(await invoice.stored()).toMatchObject({
    status: 'pending',
    payment: { keyNumber: 2, declines: 0, deferrals: 0 },
    timeline: [
      { what: 'imported' },
      { what: 'retried', by: 'ada', from: 'declined', keyNumber: 2, reason: 'card renewed' },
    ],
  });
  expect((await invoice.pay()).charge).toEqual([`invoice-${invoice.id}-2`]);
  expect(await invoice.charges()).toMatchObject([{ idempotencyKey: `invoice-${invoice.id}-2` }]);
});

test('two simultaneous retries of a declined invoice: one succeeds, and the key number rises by one', async () => {
  const invoice = await ended({ status: 'declined', payment: keyOf(hour) });
  const answers = await Promise.all([invoice.retry(), invoice.retry()]);
  expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['refused', 'retried']);
  expect(await invoice.stored()).toMatchObject({ payment: { keyNumber: 2 } });
});

test('an invoice found paid between the read and the write stays paid', async () => {
  const invoice = await ended({ ...parked, payment: keyOf(hour) });
  const found = withBatch(world.container, (write) => async (...args) => {
    await world.container
      .item(invoice.id, invoice.shard)
      .patch([{ op: 'set', path: '/status', value: 'paid' }]);
    return write(...args);
  });
  expect(await invoice.retry(found)).toEqual({ kind: 'refused', status: 'paid' });
  expect(await invoice.stored()).toMatchObject({ status: 'paid', timeline: [{ what: 'imported' }] });
});

test('a write whose answer is lost counts once', async () => {
  const invoice = await ended({ status: 'declined', payment: keyOf(hour) });
  await world.cosmos.fault({ kind: 'reset-after', count: 3, filter: { operation: 'batch' } });
  expect(await invoice.retry()).toMatchObject({ kind: 'retried', from: 'declined' });
  await world.cosmos.clearFaults();
  const stored = await invoice.stored();
  expect(stored).toMatchObject({ status: 'pending', payment: { keyNumber: 2 } });
  expect(stored?.timeline.filter(({ what }) => what === 'retried')).toHaveLength(1);
});

describe('an invoice that waits for a later try', () => {
  const tomorrow = () => ({ actionableAt: new Date(hastyClock.now() + 24 * hour).toISOString() });
  const otherCard = { paymentMethod: 'pm_card_mastercard' };
  /** A soft decline under the first key: the second was never sent. */
  const softly = (): Partial<Invoice> => ({
    payment: { keyNumber: 2, declines: 1, deferrals: 0 },
    timeline: [
      {
        at: new Date(hastyClock.now()).toISOString(),
        what: 'retry: declined',
        by: 'host-a',
        reason: 'insufficient_funds',
      },
    ],
  });
  const unsure = (): Partial<Invoice> => ({
    attempts: 1,
    payment: keyOf(hour, { unknownSince: new Date(hastyClock.now() - hour).toISOString() }),
  });

  test('after a soft decline is charged at once with another payment method, under the next key', async () => {
    const invoice = await ended(softly(), tomorrow());
    expect(await invoice.retry(world.container, otherCard)).toMatchObject({
      kind: 'retried',
      from: 'pending',
    });
    expect(await invoice.stored()).toMatchObject({
      status: 'pending',
      payment: { keyNumber: 3, declines: 0, method: { id: 'pm_card_mastercard', from: 'retry' } },
    });
    expect((await invoice.pay()).charge).toEqual([`invoice-${invoice.id}-3`]);
    expect(await invoice.stored()).toMatchObject({ status: 'paid' });
    expect(await invoice.charges()).toHaveLength(1);
  });

  test('of two retries with other payment methods at the same time one succeeds: one charge', async () => {
    const invoice = await ended(softly(), tomorrow());
    const answers = await Promise.all([
      invoice.retry(world.container, otherCard),
      invoice.retry(world.container, { paymentMethod: 'pm_card_visa' }),
    ]);
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(['refused', 'retried']);
    expect((await invoice.pay()).charge).toEqual([`invoice-${invoice.id}-3`]);
    expect(await invoice.charges()).toHaveLength(1);
  });

  test('without another payment method is due now, under the key that it has', async () => {
    const invoice = await ended(softly(), tomorrow());
    await invoice.retry();
    expect((await invoice.pay()).charge).toEqual([`invoice-${invoice.id}-2`]);
  });

  test('and may have been charged gets no other payment method', async () => {
    const invoice = await ended(unsure(), tomorrow());
    await charge(invoice.id, `invoice-${invoice.id}-1`);
    expect(await invoice.retry(world.container, otherCard)).toEqual({ kind: 'mayBeCharged' });
    expect(await invoice.stored()).toMatchObject({ status: 'pending', payment: { keyNumber: 1 } });
  });

  test.each([
    ['another card', otherCard],
    ['its own card', {}],
  ])('and was charged is found when somebody says that it was not (%s): one charge', async (_, card) => {
    const invoice = await ended(unsure(), tomorrow());
    await charge(invoice.id, `invoice-${invoice.id}-1`);
    expect(await invoice.retry(world.container, { ...card, notCharged: true })).toMatchObject({
      kind: 'recorded',
      status: 'paid',
    });
    expect(await invoice.charges()).toHaveLength(1);
  });
});
