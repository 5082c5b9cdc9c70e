import Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPayments } from '../../local/stripe/index.ts';
import { StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import { settleRestored } from '../../scripts/settleRestored.ts';
import { invoiceSchema, type NewInvoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { chargeUnderKey } from '../../src/paying/chargeUnderKey.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { aClaimedInvoice, anInvoice } from '../support/anInvoice.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { unpaced } from '../support/unpaced.ts';
import { virtualClock } from '../support/virtualClock.ts';

const shards = 16;
const day = 24 * 3600 * 1000;
const clock = virtualClock(Date.parse('2026-01-31T12:00:00Z'));
const payments = await startPayments({ clock });
const stripeOptions = { secretKey: payments.secretKey, apiBase: payments.baseUrl, timeoutMs: 5_000 };
const provider = stripeProvider(stripeOptions);
const stripe = new Stripe(payments.secretKey, {
  host: '127.0.0.1',
  port: payments.port,
  protocol: 'http',
  telemetry: false,
});
let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(async () => {
  await payments.stop();
  await cosmos[Symbol.asyncDispose]();
});

/** Stores an invoice as the backup contains it. */
async function stored(id: string, from: NewInvoice = anInvoice()): Promise<NewInvoice> {
  const { _etag: _, ...invoice } = { ...from, id, shard: shardOf(id, shards), _etag: '' };
  await cosmos.containers.invoices.items.create(invoice);
  return invoice;
}

/** Charges a pending invoice as the app would: the key is new to the database, whatever Stripe knows. */
function charge(invoice: NewInvoice) {
  const now = clock.now();
  const read = invoiceSchema.parse({ ...invoice, _etag: '' });
  const calls = unpaced(provider).within({ before: Number.POSITIVE_INFINITY });
  return chargeUnderKey(calls, commandFor(read, { attempt: 1, at: new Date(now).toISOString() }), now);
}

const store = () => cosmosInvoiceStore(cosmos.containers.invoices, { clock, shards });
const read = (id: string) => store().find(id);

type Invoices = Pick<InvoiceStore, 'find' | 'update'>;

async function compared(
  since: number,
  { apply = true, invoices = store() }: { apply?: boolean; invoices?: Invoices } = {},
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { invoiceId, finding } of settleRestored({
    stripe,
    invoices,
    since,
    apply,
    now: clock.now(),
  }))
    found[invoiceId] = [found[invoiceId], finding].filter(Boolean).join(' and ');
  return found;
}

describe('after a restore', () => {
  test('without this step, an invoice charged more than a day ago is charged again', async () => {
    const invoice = await stored('charged-twice');
    const first = await charge(invoice);
    await clock.advance(day + 60_000);
    const second = await charge(invoice);
    expect(second.kind).toBe('succeeded');
    expect(second).not.toEqual(first);
    expect(await compared(0)).toEqual({ 'charged-twice': 'marked and twice' });
    expect(await compared(0)).toEqual({ 'charged-twice': 'known and known' });
    await clock.advance(1_000);
  });

  test('a payment in progress is followed from then on; without this step it would be charged again', async () => {
    const since = clock.now();
    const invoice = await stored('in-progress', {
      ...anInvoice({ currency: 'EUR' }),
      paymentMethod: 'pm_sepaDebit_success_de',
    });
    const begun = await charge(invoice);
    expect(begun).toMatchObject({ kind: 'processing' });
    expect(await compared(since, { apply: false })).toEqual({ 'in-progress': 'following' });
    expect(await read('in-progress')).toMatchObject({ status: 'pending' });
    expect(await compared(since)).toEqual({ 'in-progress': 'following' });
    const paymentId = begun.kind === 'processing' ? begun.paymentId : '';
    expect(await read('in-progress')).toMatchObject({
      status: 'processing',
      checkAt: expect.any(String),
      payment: { inProgress: { id: paymentId, state: 'processing' } },
      timeline: expect.arrayContaining([
        expect.objectContaining({ what: 'processing', found: 'after a restore' }),
      ]),
    });
    expect(await compared(since)).toEqual({ 'in-progress': 'known' });
    await clock.advance(1_000);
  });

  test('a payment that has gone back in full since: the invoice is paid and refunded, and never charged again', async () => {
    const since = clock.now();
    const paid = await charge(await stored('refunded'));
    const paymentId = paid.kind === 'succeeded' ? paid.paymentId : '';
    await stripe.refunds.create({ payment_intent: paymentId });
    expect(await compared(since)).toEqual({ refunded: 'marked' });
    expect(await read('refunded')).toMatchObject({
      status: 'paid',
      payment: { id: paymentId },
      reversals: { refundedMinor: 1999 },
    });
    expect(await compared(since)).toEqual({ refunded: 'known' });
    await clock.advance(1_000);
  });

  test('refunds and disputes of a payment that the copy knows are recorded, however old the payment is', async () => {
    const ids: Record<string, string> = {};
    for (const id of ['refunded-since', 'disputed-since', 'refund-failed-since']) {
      const paid = await charge(await stored(id));
      ids[id] = paid.kind === 'succeeded' ? paid.paymentId : '';
    }
    await compared(0);
    const fault = { kind: 'refund-fails', count: 1 };
    await fetch(`${payments.baseUrl}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
    await stripe.refunds.create({ payment_intent: ids['refund-failed-since'] ?? '', amount: 500 });
    await compared(0);
    expect(await read('refund-failed-since')).toMatchObject({ reversals: { refundedMinor: 500 } });
    await clock.advance(2 * day);
    const since = clock.now();
    await stripe.refunds.create({ payment_intent: ids['refunded-since'] ?? '', amount: 300 });
    const dispute = { paymentIntent: ids['disputed-since'] };
    await fetch(`${payments.baseUrl}/_local/disputes`, { method: 'POST', body: JSON.stringify(dispute) });

    const merged = { 'refunded-since': 'merged', 'disputed-since': 'merged' };
    expect(await compared(since, { apply: false })).toEqual(merged);
    expect(await read('refunded-since')).not.toHaveProperty('reversals');
    expect(await compared(since)).toEqual(merged);
    expect(await read('refunded-since')).toMatchObject({ reversals: { refundedMinor: 300 } });
    expect(await read('disputed-since')).toMatchObject({
      reversals: { disputes: [{ status: 'open' }], disputedMinor: 1999 },
      checkAt: expect.any(String),
    });
    expect(await compared(since)).toEqual({ 'refunded-since': 'known', 'disputed-since': 'known' });
    // One that had succeeded in the copy and has failed since is found among the payments since then.
    expect(await compared(0)).toMatchObject({ 'refund-failed-since': 'merged' });
    expect(await read('refund-failed-since')).toMatchObject({ reversals: { refundedMinor: 0 } });
    await clock.advance(1_000);
  });

  test('a copy that waits for a payment which failed, and another one that succeeded: the invoice is paid by that', async () => {
    const since = clock.now();
    const failing = await stored('failed-since', {
      ...anInvoice(),
      paymentMethod: 'pm_usBankAccount_insufficientFunds',
    });
    const begun = await charge(failing);
    const paymentId = begun.kind === 'processing' ? begun.paymentId : '';
    await compared(since);
    expect(await read('failed-since')).toMatchObject({ payment: { inProgress: { id: paymentId } } });
    await clock.advance(5 * day);
    const next = { ...failing, paymentMethod: 'pm_card_visa', payment: { ...failing.payment, keyNumber: 2 } };
    const paid = await charge(next);
    expect(await compared(since)).toMatchObject({ 'failed-since': expect.any(String) });
    await compared(since);
    expect(await read('failed-since')).toMatchObject({
      status: 'paid',
      payment: { id: paid.kind === 'succeeded' ? paid.paymentId : '' },
    });
    expect(await compared(since)).toEqual({ 'failed-since': 'known' });
    await clock.advance(1_000);
  });

  test('a charged invoice is marked as paid and its receipt is queued; others stay unchanged', async () => {
    const since = clock.now();
    const pending = await stored('pending');
    const claimed = await stored('claimed', aClaimedInvoice());
    const untouched = await stored('untouched');
    await charge(pending);
    await charge(claimed);
    await clock.advance(3 * day);

    expect(await compared(since, { apply: false })).toEqual({ pending: 'marked', claimed: 'marked' });
    expect(await read('pending')).toMatchObject({ status: 'pending' });

    expect(await compared(since)).toEqual({ pending: 'marked', claimed: 'marked' });
    for (const id of ['pending', 'claimed']) {
      const invoice = await read(id);
      expect(invoice).toMatchObject({ status: 'paid', payment: { id: expect.stringMatching(/^pi_/) } });
      expect(invoice?.payment.paidAt).toBe(new Date(since).toISOString());
      expect(invoice?.timeline.at(-1)).toMatchObject({ what: 'paid', found: 'after a restore' });
      expect(invoice).not.toHaveProperty('claim');
      expect(invoice).not.toHaveProperty('actionableAt');
      const { resources } = await cosmos.containers.invoices.items
        .query("SELECT * FROM c WHERE c.type = 'outboxMessage'", { partitionKey: shardOf(id, shards) })
        .fetchAll();
      expect(resources).toContainEqual(
        expect.objectContaining({
          status: 'pending',
          destination: 'work-items',
          body: [expect.objectContaining({ resourceId: id, stage: 'receipt' })],
        }),
      );
    }
    const { _etag: _, ...left } = { ...(await read('untouched')) };
    expect(left).toMatchObject(untouched);

    expect(await compared(since)).toEqual({ pending: 'known', claimed: 'known' });
  });

  test('what needs a human decision is reported once, and stands in the invoice from then on', async () => {
    const since = clock.now();
    await charge(anInvoice({ id: 'came-later' }));
    const dearer = await stored('dearer');
    await charge({ ...dearer, amountMinor: 1 });
    const { _etag: _, ...paid } = anInvoice({ status: 'paid' });
    await charge(await stored('paid-before', { ...paid, payment: { ...paid.payment, id: 'pi_other' } }));
    await clock.advance(1_000);
    const found = { 'came-later': 'missing', dearer: 'parked', 'paid-before': 'twice' };
    expect(await compared(since, { apply: false })).toEqual(found);
    expect(await compared(since)).toEqual(found);
    expect(await read('dearer')).toMatchObject({ status: 'parked', reason: expect.stringContaining('void') });
    expect(await read('paid-before')).toMatchObject({ reversals: { payments: [{ amountMinor: 1999 }] } });
    await stored('came-later');
    expect(await compared(since)).toEqual({
      'came-later': 'marked',
      dearer: 'known',
      'paid-before': 'known',
    });
    expect(await compared(since)).toEqual({ 'came-later': 'known', dearer: 'known', 'paid-before': 'known' });
  });

  test('a write without a clear answer is reported, to be run again', async () => {
    const since = clock.now();
    await charge(await stored('unanswered'));
    const update = () => Promise.reject(new StoreAway('noAnswer', new Error('busy')));
    expect(await compared(since, { invoices: { find: read, update } })).toEqual({ unanswered: 'again' });
    await clock.advance(1_000);
  });

  test('a store that refuses the writes is an error: running again would not help', async () => {
    const since = clock.now();
    await charge(await stored('denied'));
    const denied = cosmosInvoiceStore(cosmos.denied.invoices, { clock, shards });
    const invoices: Invoices = {
      find: read,
      update: (id, request) => denied.update(id, request),
    };
    const refused = { name: 'StoreAway', reason: 'accessDenied' };
    await expect(compared(since, { invoices })).rejects.toMatchObject(refused);
    expect(await read('denied')).toMatchObject({ status: 'pending' });
  });
});
