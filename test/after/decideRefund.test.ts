import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideRefund, type RefundWish } from '../../src/after/refundInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { invoiceStatuses } from '../../src/invoice/invoiceStatus.ts';
import { type Refund, refundStatuses, reversalsOf } from '../../src/invoice/reversals.ts';
import { carriedOutWithinMs } from '../../src/paying/mergeReversals.ts';
import { anInvoice } from '../support/anInvoice.ts';

const at = '2026-01-02T00:00:00.000Z';
const now = Date.parse(at);
const wish = (changes: Partial<RefundWish> = {}): RefundWish => ({
  refundId: 'rf_1',
  reason: 'goods returned',
  by: 'ada',
  requestKey: 'key-1',
  ...changes,
});

const aPaid = (refunds: readonly Refund[] = [], changes: Partial<Invoice> = {}): Invoice =>
  anInvoice({
    status: 'paid',
    amountMinor: 1_000,
    payment: { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_1', paidAt: at },
    ...(refunds.length === 0 ? {} : { reversals: reversalsOf(refunds, []) }),
    ...changes,
  });

const aRefund = (changes: Partial<Refund> = {}): Refund => ({
  id: 'rf_0',
  amountMinor: 400,
  status: 'succeeded',
  at,
  by: 'ada',
  reason: 'goods returned',
  ...changes,
});

describe('the amount', () => {
  test('is what is left if nobody names one', () => {
    expect(decideRefund(aPaid([aRefund()]), wish(), now)).toMatchObject({
      kind: 'change',
      change: {
        set: {
          reversals: {
            refunds: [
              {},
              { id: 'rf_1', amountMinor: 600, status: 'requested', at, by: 'ada', reason: 'goods returned' },
            ],
            refundedMinor: 1_000,
          },
        },
      },
      orders: ['rf_1'],
    });
  });

  test.each([
    ['requested', 600],
    ['pending', 600],
    ['succeeded', 600],
    ['failed', 1_000],
    ['canceled', 1_000],
  ] as const)('of a refund that is %s counts: %i is left', (status, leftMinor) => {
    const paid = aPaid([aRefund({ status })]);
    const more = wish({ amountMinor: leftMinor + 1 });
    expect(decideRefund(paid, more, now)).toEqual({ kind: 'tooMuch', leftMinor });
    expect(decideRefund(paid, wish({ amountMinor: leftMinor }), now)).toMatchObject({ kind: 'change' });
  });

  test('is refused if nothing is left, even if nobody names one', () => {
    const paid = aPaid([aRefund({ amountMinor: 1_000 })]);
    expect(decideRefund(paid, wish(), now)).toEqual({ kind: 'tooMuch', leftMinor: 0 });
  });

  test('has to be one that the provider takes of this currency', () => {
    const paid = aPaid([], { currency: 'KWD' });
    expect(decideRefund(paid, wish({ amountMinor: 15 }), now)).toEqual({
      kind: 'badAmount',
      error: 'Stripe takes only KWD amounts whose third decimal is 0',
    });
    expect(decideRefund(paid, wish({ amountMinor: 10 }), now)).toMatchObject({ kind: 'change' });
  });
});

test.each(invoiceStatuses.filter((status) => status !== 'paid'))('a %s invoice is not refunded', (status) => {
  expect(decideRefund(aPaid([], { status }), wish(), now)).toEqual({ kind: 'notPaid', status });
});

test('a document does not grow without bound', () => {
  const many = Array.from({ length: 100 }, (_, n) => aRefund({ id: `rf_a${n}`, amountMinor: 1 }));
  expect(decideRefund(aPaid(many), wish(), now)).toEqual({ kind: 'tooMany', most: 100 });
});

describe('the same key', () => {
  const part = aRefund({ id: 'rf_1', status: 'pending' });
  const whole = aRefund({ id: 'rf_1', amountMinor: 1_000, rest: true });

  test.each([
    ['the same amount', part, { amountMinor: 400 }, 'repeated'],
    ['another amount', part, { amountMinor: 500 }, 'otherRequest'],
    ['no amount, where one was named', part, {}, 'otherRequest'],
    ['another reason', part, { amountMinor: 400, reason: 'other' }, 'otherRequest'],
    ['no amount again', whole, {}, 'repeated'],
    ['an amount, where none was named', whole, { amountMinor: 1_000 }, 'otherRequest'],
  ] as const)('with %s', (_, known, asked, kind) => {
    expect(decideRefund(aPaid([known]), wish(asked), now)).toEqual({ kind, refund: known });
  });

  test('orders it again once its order may be lost, but not while a person has to say if it was made', () => {
    const later = now + carriedOutWithinMs;
    const known = aRefund({ id: 'rf_1', status: 'requested' });
    const again = wish({ amountMinor: 400 });
    expect(decideRefund(aPaid([known]), again, later - 1)).toMatchObject({ kind: 'repeated' });
    expect(decideRefund(aPaid([known]), again, later)).toEqual({
      kind: 'change',
      change: {},
      entry: {
        what: 'refund ordered again',
        by: 'ada',
        refundId: 'rf_1',
        amountMinor: 400,
        reason: 'goods returned',
      },
      orders: ['rf_1'],
    });
    const waiting = aPaid([{ ...known, mayBe: 're_1' }]);
    expect(decideRefund(waiting, again, later)).toMatchObject({ kind: 'repeated' });
  });

  test('of a refund that only the provider remembers, as after a restore, stands for that one', () => {
    const { by: _, reason: __, ...shown } = part;
    expect(decideRefund(aPaid([shown]), wish(), now)).toMatchObject({ kind: 'repeated' });
    expect(decideRefund(aPaid([shown]), wish({ amountMinor: 400 }), now)).toMatchObject({ kind: 'repeated' });
    expect(decideRefund(aPaid([shown]), wish({ amountMinor: 401 }), now)).toMatchObject({
      kind: 'otherRequest',
    });
  });
});

test('whatever is asked for and becomes of it, no more than was paid is ever requested or gone', () => {
  const steps = fc.array(
    fc.record({
      key: fc.integer({ min: 0, max: 5 }),
      amountMinor: fc.option(fc.integer({ min: 1, max: 1_200 }), { nil: undefined }),
      next: fc.constantFrom(...refundStatuses),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(steps, (asked) => {
      let refunds: readonly Refund[] = [];
      for (const { key, amountMinor, next } of asked) {
        const amount = amountMinor === undefined ? {} : { amountMinor };
        const decision = decideRefund(aPaid(refunds), wish({ refundId: `rf_${key}`, ...amount }), now);
        if (decision.kind === 'change') refunds = decision.change.set?.reversals?.refunds ?? refunds;
        const { refundedMinor } = reversalsOf(refunds, []);
        expect(refundedMinor).toBeLessThanOrEqual(1_000);
        expect(new Set(refunds.map(({ id }) => id)).size).toBe(refunds.length);
        // A refund only leaves the states that count; it never comes back.
        refunds = refunds.map((one) =>
          one.id === `rf_${key}` && one.status !== 'failed' ? { ...one, status: next } : one,
        );
        if (reversalsOf(refunds, []).refundedMinor > 1_000) {
          refunds = refunds.map((one) =>
            one.id === `rf_${key}` ? { ...one, status: 'failed' as const } : one,
          );
        }
      }
    }),
  );
});
