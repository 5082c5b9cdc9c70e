import fc from 'fast-check';
import { expect, test } from 'vitest';
import { currencies } from '../../src/invoice/currencies.ts';
import { amountLimits, stripeAmount } from '../../src/stripe/stripeAmount.ts';

test.each([
  [1999, 'USD', 1999],
  [500, 'JPY', 500],
  [12_340, 'KWD', 12_340],
  [1300, 'ISK', 130_000],
  [5, 'UGX', 500],
  [700, 'MGA', 7],
])('%i %s is given as %i', (amountMinor, currency, amount) => {
  expect(stripeAmount(amountMinor, currency)).toEqual({ amount });
});

test.each([
  [12_345, 'KWD'],
  [1, 'BHD'],
  [701, 'MGA'],
])('%i %s is refused rather than rounded', (amountMinor, currency) => {
  expect(stripeAmount(amountMinor, currency)).toHaveProperty('refused');
});

test.each([
  ['USD', 50, 99_999_999],
  ['JPY', 50, 99_999_999],
  ['HUF', 17_500, 99_999_999],
  ['IDR', 1, 999_999_999_999],
  ['INR', 50, 999_999_999],
  ['ISK', 1, 999_999],
  ['UGX', 1, 999_999],
  ['MGA', 100, 9_999_999_900],
  ['KWD', 10, 99_999_990],
])('%s takes from %i to %i minor units', (currency, least, most) => {
  expect(amountLimits(currency)).toEqual({ least, most });
});

test('both limits of every currency are amounts that Stripe takes, and one more digit is too long', () => {
  fc.assert(
    fc.property(fc.constantFrom(...currencies), (currency) => {
      const { least, most } = amountLimits(currency);
      const digits = currency === 'IDR' ? 12 : currency === 'INR' ? 9 : 8;
      for (const limit of [least, most]) {
        const taken = stripeAmount(limit, currency);
        expect('amount' in taken && taken.amount > 0 && taken.amount < 10 ** digits, currency).toBe(true);
      }
      const next = stripeAmount(most + (currency === 'MGA' ? 100 : 10), currency);
      expect('amount' in next ? next.amount : 10 ** digits, currency).toBeGreaterThanOrEqual(10 ** digits);
    }),
  );
});
