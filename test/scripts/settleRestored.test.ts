import Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPayments } from '../../local/stripe/index.ts';
import { settleRestored } from '../../scripts/settleRestored.ts';
import { StoreAway } from '../../src/documents/storeAway.ts';
import { invoiceSchema, type NewInvoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { chargeUnderKey } from '../../src/paying/chargeUnderKey.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { stripeProvider } from '../../src/paying/stripe/stripeProvider.ts';
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

  test('a payment that was refunded marks nothing as paid: a person decides', async () => {
    const since = clock.now();
    const invoice = await stored('refunded');
    const paid = await charge(invoice);
    const paymentId = paid.kind === 'succeeded' ? paid.paymentId : '';
    await stripe.refunds.create({ payment_intent: paymentId });
    expect(await compared(since)).toEqual({ refunded: 'reversed' });
    expect(await read('refunded')).toMatchObject({ status: 'pending' });
    // Sent again under its key, the charge is answered as before, but the money is gone.
    expect(await charge(invoice)).toMatchObject({
      kind: 'reversed',
      message: `the provider has payment ${paymentId} for it, but a refund of 1999 is succeeded (in minor units)`,
    });
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
      const { resource } = await cosmos.containers.invoices
        .item(`restored-${invoice?.payment.id}`, shardOf(id, shards))
        .read();
      expect(resource).toMatchObject({
        status: 'pending',
        destination: 'work-items',
        body: [{ stage: 'receipt' }],
      });
    }
    const { _etag: _, ...left } = { ...(await read('untouched')) };
    expect(left).toMatchObject(untouched);

    expect(await compared(since)).toEqual({ pending: 'known', claimed: 'known' });
  });

  test('what needs a human decision is reported and left unchanged', async () => {
    const since = clock.now();
    await charge(anInvoice({ id: 'came-later' }));
    const dearer = await stored('dearer');
    await charge({ ...dearer, amountMinor: 1 });
    const { _etag: _, ...paid } = anInvoice({ status: 'paid' });
    await charge(await stored('paid-before', { ...paid, payment: { ...paid.payment, id: 'pi_other' } }));
    await clock.advance(1_000);
    expect(await compared(since)).toEqual({
      'came-later': 'missing',
      dearer: 'differs',
      'paid-before': 'twice',
    });
    expect(await read('dearer')).toMatchObject({ status: 'pending' });
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
