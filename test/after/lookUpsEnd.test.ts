// Look-ups that one of Stripe's two ways cannot answer: each invoice still has a call that ends its state.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsOverMs } from '../../src/paying/payingPolicy.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeLookups } from '../../src/stripe/stripeLookups.ts';
import { correctedInvoices } from '../support/correctedInvoices.ts';
import { longPayments } from '../support/longPayments.ts';
import { unpaced } from '../support/unpaced.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
let corrected: ReturnType<typeof correctedInvoices>;
beforeAll(async () => {
  app = await longPayments({ searchLagMs: 0 });
  corrected = correctedInvoices(app);
});
afterAll(() => app[Symbol.asyncDispose]());

const searchFails = () => app.local('faults', { kind: '500', count: 1, filter: { operation: 'search' } });

test('without the search, the list of the customer decides: nothing was charged', async () => {
  const { id } = await corrected.parked();
  await app.clock.advance(callsOverMs);
  await searchFails();
  expect(await corrected.void(id)).toMatchObject({ kind: 'voided' });
});

test('without the search, the list of the customer decides: it was charged', async () => {
  const { id, paymentId } = await corrected.parked({ charged: 'pm_card_visa' });
  await searchFails();
  expect(await corrected.void(id)).toMatchObject({ kind: 'recorded', paymentId });
});

test('a customer that the provider does not know: a person may void the invoice', async () => {
  const { id, stored } = await corrected.parked({ customerId: 'cus_missing_1' });
  await app.clock.advance(callsOverMs);
  expect(await corrected.void(id)).toMatchObject({ kind: 'voided' });
  expect(await stored()).toMatchObject({ status: 'voided' });
});

test('a customer that the provider does not know, without the search: a person may vouch that nothing was charged', async () => {
  const { id } = await corrected.parked({ customerId: 'cus_missing_2' });
  await app.clock.advance(callsOverMs);
  await searchFails();
  expect(await corrected.retry(id, { notCharged: true })).toMatchObject({ kind: 'retried' });
});

test('a customer that the provider does not know is never taken for one who was not charged, without a person', async () => {
  const { id, paymentOf } = await keyTooOld('cus_missing_3');
  const parked = await paymentOf();
  expect(parked).toMatchObject({
    status: 'parked',
    reason: expect.stringMatching(/does not know customer cus_missing_3: void .* notCharged/),
  });
  await app.clock.advance(callsOverMs);
  expect(await corrected.void(id)).toMatchObject({ kind: 'voided' });
});

test('of a customer with many payments, only those of the time of the key are read', async () => {
  const invoice = await app.invoice({ customerId: 'cus_busy' });
  await invoice.pay();
  const { id: invoiceId, customerId, amountMinor, currency } = await invoice.stored();
  const sought = { invoiceId, customerId, amountMinor, currency };
  await searchFails();
  const now = app.clock.now();
  const iso = (ms: number) => new Date(ms).toISOString();
  const day = 24 * 3_600_000;
  const over = { ...sought, since: iso(now - 3 * day), until: iso(now - day) };
  expect(await app.provider.find(over)).toEqual({ kind: 'notFound' });
  await searchFails();
  const inTime = { ...sought, since: iso(now - 3 * day), until: iso(now) };
  expect(await app.provider.find(inTime)).toMatchObject({ kind: 'found' });
});

describe('a customer with more payments than a look-up reads', () => {
  test('a person may void the invoice, or vouch that nothing was charged', async () => {
    const provider = await busy('cus_busy_1');
    const [first, second] = [await corrected.parked(ofBusy(1)), await corrected.parked(ofBusy(1))];
    await app.clock.advance(callsOverMs);
    expect(await corrected.void(first.id, 'sent twice', { provider })).toMatchObject({ kind: 'voided' });
    const vouched = { notCharged: true, reason: 'looked' };
    expect(await corrected.retry(second.id, vouched, { provider })).toMatchObject({ kind: 'retried' });
  });

  test('a payment that the search shows is recorded', async () => {
    const provider = await busy('cus_busy_2');
    const { id, paymentId } = await corrected.parked({ ...ofBusy(2), charged: 'pm_card_visa' });
    expect(await corrected.void(id, 'sent twice', { provider })).toMatchObject({
      kind: 'recorded',
      paymentId,
    });
  });

  test('while the search is away, nothing is concluded', async () => {
    const provider = await busy('cus_busy_3');
    const { id } = await corrected.parked(ofBusy(3));
    await app.clock.advance(callsOverMs);
    await searchFails();
    expect(await corrected.void(id, 'sent twice', { provider })).toMatchObject({ kind: 'silent' });
  });

  test('where no search is offered, what was read of them counts', async () => {
    const provider = await busy('cus_busy_5');
    const invoice = await app.invoice({ customerId: 'cus_busy_5' });
    const { payment } = await invoice.pay();
    const old = new Date(app.clock.now() - 3_600_000).toISOString();
    const lost = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: old, unknownSince: old };
    await app.world.container.item(invoice.id, invoice.shard).patch([
      { op: 'set', path: '/payment', value: lost },
      { op: 'set', path: '/status', value: 'parked' },
    ]);
    await app.clock.advance(callsOverMs);
    await app.local('faults', { kind: '400', count: 1, filter: { operation: 'search' } });
    expect(await corrected.void(invoice.id, 'sent twice', { provider })).toMatchObject({
      kind: 'recorded',
      paymentId: payment.id,
    });
  });

  test('where no search is offered, a person may void the invoice all the same', async () => {
    const provider = await busy('cus_busy_4');
    const { id } = await corrected.parked(ofBusy(4));
    await app.clock.advance(callsOverMs);
    await app.local('faults', { kind: '400', count: 1, filter: { operation: 'search' } });
    expect(await corrected.void(id, 'sent twice', { provider })).toMatchObject({ kind: 'voided' });
  });
});

const ofBusy = (n: number) => ({ customerId: `cus_busy_${n}` });

/** A customer with two payments, and a provider whose look-ups read one. */
async function busy(customerId: string) {
  for (const _ of [1, 2]) await (await app.invoice({ customerId })).pay();
  const options = { secretKey: app.payments.secretKey, apiBase: app.payments.baseUrl, timeoutMs: 10_000 };
  const lookUps = stripeLookups(stripeClient(options), { timeoutMs: 10_000, mostListed: 1 });
  return unpaced({ ...app.provider, ...lookUps }, { clock: app.clock });
}

/** An invoice whose call may have charged, and whose key has grown too old to be sent. */
async function keyTooOld(customerId: string) {
  const { id, shard, stored, pay } = await app.invoice({ customerId });
  const old = new Date(app.clock.now() - 24 * 3_600_000).toISOString();
  const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: old, unknownSince: old };
  await app.world.container.item(id, shard).patch([{ op: 'set', path: '/payment', value: payment }]);
  return { id, stored, paymentOf: pay };
}
