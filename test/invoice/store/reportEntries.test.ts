import { expect, test } from 'vitest';
import { reportEntriesOf } from '../../../src/invoice/counters/counters.ts';
import type { Invoice } from '../../../src/invoice/invoice.ts';
import { reversalsOf } from '../../../src/invoice/reversals.ts';
import { anInvoice } from '../../support/anInvoice.ts';

const at = '2026-03-01T00:00:00.000Z';
const later = '2026-03-02T00:00:00.000Z';
const refund = (id: string, status: 'succeeded' | 'pending' | 'failed', amountMinor: number) => ({
  id,
  at: later,
  status,
  amountMinor,
});
const dispute = (id: string, status: 'open' | 'won' | 'lost', amountMinor: number) => ({
  id,
  at: later,
  status,
  amountMinor,
  reason: 'fraudulent',
});
const payment = { ...anInvoice().payment, id: 'pi_1', paidAt: at };
const currency = 'USD';
const paid = { kind: 'paid', at, amountMinor: 1999, currency };

test.each<[string, Partial<Invoice>, object[]]>([
  ['one that was never tried', {}, []],
  ['one that stands paid', { status: 'paid', payment }, [paid]],
  ['one that stands declined', { status: 'declined', declinedAt: at }, [{ ...paid, kind: 'declined' }]],
  ['one that was declined and is tried again', { status: 'pending', declinedAt: at }, []],
  ['one that was declined and paid later', { status: 'paid', declinedAt: at, payment }, [paid]],
  [
    'one with refunds, of which one has come to nothing',
    {
      status: 'paid',
      payment,
      reversals: reversalsOf(
        [refund('a', 'succeeded', 1), refund('b', 'pending', 2), refund('c', 'failed', 4)],
        [],
      ),
    },
    [
      paid,
      { kind: 'refunded', at: later, amountMinor: 1, currency },
      { kind: 'refunded', at: later, amountMinor: 2, currency },
    ],
  ],
  [
    'one with disputes, of which one is won',
    {
      status: 'paid',
      payment,
      reversals: reversalsOf([], [dispute('a', 'open', 1), dispute('b', 'lost', 2), dispute('c', 'won', 4)]),
    },
    [
      paid,
      { kind: 'disputed', at: later, amountMinor: 1, currency },
      { kind: 'disputed', at: later, amountMinor: 2, currency },
      { kind: 'disputeLost', at: later, amountMinor: 2, currency },
    ],
  ],
  [
    'one that was paid twice, with a dispute in another currency',
    {
      status: 'paid',
      payment,
      reversals: reversalsOf([], [{ ...dispute('a', 'open', 3), currency: 'EUR' }], {
        payments: [{ id: 'pi_2', amountMinor: 1999, at: later }],
      }),
    },
    [paid, { ...paid, at: later }, { kind: 'disputed', at: later, amountMinor: 3, currency: 'EUR' }],
  ],
])('%s', (_, changes, expected) => {
  expect(reportEntriesOf(anInvoice(changes))).toEqual(expected);
});
