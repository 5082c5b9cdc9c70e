import { expect, test } from 'vitest';
import { checkSecondPayments } from './end.ts';
import { paymentOfApp } from './paymentOfApp.ts';

const paidAgain = {
  id: 'inv-1',
  status: 'paid' as const,
  payment: { keyNumber: 2, declines: 0, deferrals: 0, id: 'pi-2' },
  told: true,
};
const entry = { at: '2026-03-02T08:00:00.000Z', by: 'host-0', what: 'second payment' };

/** The invariants that are violated. */
function violatedBy(
  refundsOfFirst: Parameters<typeof paymentOfApp>[1],
  timeline = [entry],
  told = true,
): string[] {
  const violated: string[] = [];
  const moneyed = [paymentOfApp('pi-1', refundsOfFirst), paymentOfApp('pi-2', [])];
  checkSecondPayments(moneyed, { ...paidAgain, timeline, told }, (invariant) => violated.push(invariant));
  return violated;
}

const failed = { amountMinor: 1_000, status: 'failed' as const };
const named = [{ ...entry, paymentId: 'pi-1' }];

test('two payments that hold money are a second charge, unless a refund of all of the first has failed', () => {
  expect(violatedBy([], named)).toEqual(['charged once']);
  expect(violatedBy([{ ...failed, amountMinor: 999 }], named)).toEqual(['charged once']);
  expect(violatedBy([{ ...failed, status: 'canceled' }], named)).toEqual(['charged once']);
  expect(violatedBy([failed], named)).toEqual([]);
});

test('an invoice that hears of events names the payment whose money has come back', () => {
  expect(violatedBy([failed])).toEqual(['second payments are seen']);
  expect(violatedBy([failed], [entry], false)).toEqual([]);
});

test('one payment is never a second one', () => {
  const violated: string[] = [];
  checkSecondPayments([paymentOfApp('pi-2', [])], { ...paidAgain, timeline: [] }, (one) =>
    violated.push(one),
  );
  expect(violated).toEqual([]);
});
