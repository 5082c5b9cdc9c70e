import { expect, test } from 'vitest';
import { checkProvider } from '../../src/after/checkProvider.ts';
import { paymentIdsOf } from '../../src/invoice/namedPayments.ts';
import { noReversals } from '../../src/paying/mergeReversals.ts';
import type { FoundPayment, RetrievedPayment, SoughtPayment } from '../../src/paying/paymentProvider.ts';
import { anInvoice } from '../support/anInvoice.ts';

const notFound: FoundPayment = { kind: 'notFound' };
const named = (...ids: string[]) =>
  anInvoice({
    timeline: ids.map((paymentId) => ({
      at: '2026-01-01T12:00:00.000Z',
      what: 'processing',
      by: 'a',
      paymentId,
    })),
  });

/** Checks the provider with these answers. Returns the result, and the payments that were looked for. */
async function check(
  found: FoundPayment,
  payments: Record<string, RetrievedPayment> = {},
  invoice = named(...Object.keys(payments)),
) {
  const sought: SoughtPayment[] = [];
  const view = await checkProvider(
    {
      async find(wanted) {
        sought.push(wanted);
        return found;
      },
      retrieve: async (id) => payments[id] ?? { kind: 'notFound' },
    },
    invoice,
  );
  return { view, sought };
}

const payment = (
  progress: Extract<RetrievedPayment, { kind: 'payment' }>['progress'],
  reversals = noReversals,
): RetrievedPayment => ({
  kind: 'payment',
  paymentId: 'pi_x',
  invoiceId: 'inv-1',
  customerId: anInvoice().customerId,
  amountMinor: anInvoice().amountMinor,
  currency: anInvoice().currency,
  progress,
  reversals,
});
const over = payment({ kind: 'canceled' });
const at = '2026-01-02T00:00:00.000Z';
const refunded = (amountMinor: number, status: 'succeeded' | 'pending') =>
  payment(
    { kind: 'succeeded' },
    { refunds: [{ providerId: 're_1', amountMinor, status, at }], disputes: [] },
  );
const disputed = (status: 'open' | 'lost' | 'won') =>
  payment(
    { kind: 'succeeded' },
    { refunds: [], disputes: [{ id: 'dp_1', amountMinor: 1999, status, at, reason: 'fraudulent' }] },
  );

test('the list is read from the first claim of the key, or else from the import', async () => {
  const { sought } = await check(notFound);
  expect(sought).toMatchObject([{ invoiceId: 'inv-1', since: '2025-12-01T00:00:00.000Z' }]);
  const keyCreatedAt = '2026-01-01T12:00:01.000Z';
  const claimed = anInvoice({ payment: { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt } });
  expect((await check(notFound, {}, claimed)).sought).toMatchObject([{ since: keyCreatedAt }]);
});

test.each<[string, FoundPayment, Record<string, RetrievedPayment>, object]>([
  ['nothing anywhere', notFound, {}, { kind: 'notFound' }],
  ['only payments that are over', notFound, { pi_1: over, pi_2: over }, { kind: 'notFound' }],
  [
    'one that is alive by its id',
    notFound,
    { pi_1: over, pi_2: payment({ kind: 'alive', state: 'processing' }) },
    { kind: 'processing', state: 'processing' },
  ],
  ['one that is paid by its id', notFound, { pi_1: payment({ kind: 'succeeded' }) }, { kind: 'found' }],
  [
    'one paid, while another answer is missing',
    { kind: 'unknown', message: 'down' },
    { pi_1: payment({ kind: 'succeeded' }) },
    { kind: 'found' },
  ],
  ['no clear answer', { kind: 'unknown', message: 'down' }, { pi_1: over }, { kind: 'silent' }],
  [
    'no answer about one of them',
    notFound,
    { pi_1: { kind: 'unknown', message: 'down' } },
    { kind: 'silent' },
  ],
  ['one that the provider has lost', notFound, { pi_1: { kind: 'notFound' } }, { kind: 'differs' }],
  ['a refund in full', notFound, { pi_1: refunded(1999, 'succeeded') }, { kind: 'reversed' }],
  ['a refund that may still fail', notFound, { pi_1: refunded(1999, 'pending') }, { kind: 'found' }],
  ['a refund in part', notFound, { pi_1: refunded(1998, 'succeeded') }, { kind: 'found' }],
  ['a dispute that was lost', notFound, { pi_1: disputed('lost') }, { kind: 'reversed' }],
  ['a dispute that is open', notFound, { pi_1: disputed('open') }, { kind: 'found' }],
  ['a dispute that was won', notFound, { pi_1: disputed('won') }, { kind: 'found' }],
  [
    'a look-up that finds all of it gone',
    { kind: 'reversed', paymentId: 'pi_1', message: 'refunded' },
    {},
    { kind: 'reversed', paymentId: 'pi_1' },
  ],
  [
    'another amount',
    { kind: 'differs', paymentId: 'pi_1', message: 'over 5 usd' },
    {},
    { kind: 'differs', paymentId: 'pi_1' },
  ],
])('%s', async (_, found, payments, expected) => {
  expect((await check(found, payments)).view).toMatchObject(expected);
});

test('the latest payments that an invoice names are asked about', () => {
  const ids = Array.from({ length: 12 }, (_, n) => `pi_${n}`);
  expect(paymentIdsOf(named(...ids, 'pi_11'))).toEqual(ids.toReversed().slice(0, 10));
});
