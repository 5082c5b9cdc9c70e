import { describe, expect, test } from 'vitest';
import type { PoisonItem } from '../../packages/jobs/src/workItems/poison.ts';
import { lastChange, whyKept } from '../../src/archive/archiveSettled.ts';
import { resourcesOf } from '../../src/archive/customers.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { type RefundStatus, refundStatuses, reversalsOf } from '../../src/invoice/reversals.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { paidInvoice } from './archiveWorld.ts';

const before = '2025-01-01T00:00:00.000Z';
const at = '2024-02-01T00:00:00.000Z';
const refund = (status: RefundStatus) =>
  paidInvoice({ reversals: reversalsOf([{ id: 'r', amountMinor: 1, status, at }], []) });
const dispute = (status: 'open' | 'won' | 'lost') =>
  paidInvoice({
    reversals: reversalsOf([], [{ id: 'd', amountMinor: 1, status, at, reason: 'fraudulent' }]),
  });

test.each(invoiceStatuses)('%s', (status) => {
  const settled = ['paid', 'declined', 'voided'].includes(status);
  expect(whyKept(paidInvoice({ status }), before)).toBe(settled ? undefined : 'open');
});

describe('what is settled stays', () => {
  test.each<[string, Invoice]>([
    ['it is to be claimed some day', paidInvoice({ actionableAt: at })],
    ['it is to be checked some day', paidInvoice({ checkAt: at })],
    ['somebody has claimed it', aClaimedInvoice({ ...paidInvoice(), status: 'declined' })],
    [
      'a charge may have gone through',
      paidInvoice({ payment: { ...paidInvoice().payment, unknownSince: at } }),
    ],
    [
      'a payment is alive',
      paidInvoice({
        payment: {
          ...paidInvoice().payment,
          inProgress: { id: 'pi', state: 'processing', since: at, checks: 1 },
        },
      }),
    ],
  ])('if %s', (_why, invoice) => {
    expect(whyKept(invoice, before)).toBe('open');
  });

  test('until its last change is old enough, to the millisecond', () => {
    const changed = (time: string) =>
      paidInvoice({ timeline: [{ at: time, what: 'paid', by: 'host-a' }, ...paidInvoice().timeline] });
    expect(whyKept(changed('2024-12-31T23:59:59.999Z'), before)).toBeUndefined();
    expect(whyKept(changed(before), before)).toBe('recent');
    expect(whyKept(paidInvoice({ createdAt: before }), before)).toBe('recent');
  });

  test.each(refundStatuses)('a refund that is %s', (status) => {
    const decided = ['succeeded', 'failed', 'canceled'].includes(status);
    expect(whyKept(refund(status), before)).toBe(decided ? undefined : 'refundPending');
  });

  test.each([
    ['open', 'disputeOpen'],
    ['won', undefined],
    ['lost', undefined],
  ] as const)('a dispute that is %s', (status, why) => {
    expect(whyKept(dispute(status), before)).toBe(why);
  });
});

test('refunds on so many days that no transaction could count them', () => {
  const refundedOn = (days: number) =>
    paidInvoice({
      reversals: reversalsOf(
        Array.from({ length: days }, (_, n) => {
          const month = `${2000 + Math.floor(n / 12)}-${String(1 + (n % 12)).padStart(2, '0')}`;
          return { id: `r${n}`, amountMinor: 1, status: 'succeeded', at: `${month}-01T00:00:00.000Z` };
        }),
        [],
      ),
    });
  expect(whyKept(refundedOn(61), before)).toBeUndefined();
  expect(whyKept(refundedOn(62), before)).toBe('tooManyDays');
});

test('the last change is the latest entry of the timeline, or its creation', () => {
  expect(lastChange(paidInvoice())).toBe('2024-01-01T12:00:05.000Z');
  expect(lastChange(paidInvoice({ timeline: [] }))).toBe('2023-12-01T00:00:00.000Z');
});

test('dead letters keep their invoices from erasure, on whichever page they are listed', async () => {
  const all = Array.from({ length: 201 }, (_, n) => ({
    id: String(n).padStart(3, '0'),
    resourceId: `inv-${n}`,
  }));
  const list = async (limit: number, behind = '') =>
    all.filter(({ id }) => id > behind).slice(0, limit) as unknown as PoisonItem[];
  expect(await resourcesOf({ list })).toEqual(new Set(all.map(({ resourceId }) => resourceId)));
});
