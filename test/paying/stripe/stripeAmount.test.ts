import { expect, test } from 'vitest';
import { stripeAmount } from '../../../src/paying/stripe/stripeProvider.ts';

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
