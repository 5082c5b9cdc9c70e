import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { companyOf, isolatedAttempt, staleAfterMs } from '../../src/invoice/isolation.ts';
import { maxAttempts } from '../../src/invoice/maxAttempts.ts';
import { aClaimedInvoice, anInvoice } from '../support/anInvoice.ts';

describe('companyOf', () => {
  test('of batches of 50', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => companyOf(attempt, 50))).toEqual([50, 18, 7, 2, 1]);
  });

  test('all on the first attempt, never more on the next, alone on the last', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 96 }),
        fc.integer({ min: 1, max: maxAttempts }),
        (size, attempt) => {
          expect(companyOf(1, size)).toBe(size);
          expect(companyOf(attempt + 1, size)).toBeLessThanOrEqual(companyOf(attempt, size));
          expect(companyOf(maxAttempts, size)).toBe(1);
          expect(companyOf(attempt, size)).toBeGreaterThanOrEqual(1);
        },
      ),
    );
  });
});

test('each attempt is trusted for longer than the one before, and all together for less than seven times the first', () => {
  const times = [1, 2, 3, 4, 5].map((attempt) => staleAfterMs(attempt, 300_000));
  expect(times).toEqual([300_000, 330_000, 360_000, 420_000, 540_000]);
  expect(times.reduce((sum, ms) => sum + ms)).toBeLessThan(7 * 300_000);
});

describe('isolatedAttempt', () => {
  test('what ended without a word after its calls had begun is tried apart, on the next attempt', () => {
    expect(isolatedAttempt(aClaimedInvoice({ attempts: 2 }))).toBe(3);
  });

  test('what was to be tried apart and was not called still is, on the same attempt', () => {
    const invoice = aClaimedInvoice({ attempts: 3 }, { phase: 'claimed' });
    expect(isolatedAttempt(invoice)).toBeUndefined();
    const { claim } = invoice;
    if (claim === undefined) throw new Error('it is claimed');
    expect(isolatedAttempt({ ...invoice, claim: { ...claim, isolated: true } })).toBe(3);
  });

  test('nothing else is: not what is pending, however often it was tried, and not what is about to be parked', () => {
    expect(isolatedAttempt(anInvoice({ attempts: 4 }))).toBeUndefined();
    expect(isolatedAttempt(aClaimedInvoice({ attempts: maxAttempts }))).toBeUndefined();
  });
});
