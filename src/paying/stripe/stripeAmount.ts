/**
 * The amount that Stripe wants for an amount in ISO 4217 minor units. The two agree except where
 * https://docs.stripe.com/currencies says otherwise:
 * - ISK and UGX have no minor unit, but are given as if they had two decimals;
 * - MGA has a minor unit, but is given without;
 * - currencies of three decimals take only amounts whose last digit is 0.
 */
export function stripeAmount(
  amountMinor: number,
  currency: string,
): { amount: number } | { refused: string } {
  if (asIfTwoDecimals.has(currency)) return { amount: amountMinor * 100 };
  if (currency === 'MGA') {
    if (amountMinor % 100 !== 0) return { refused: 'Stripe takes whole ariary only' };
    return { amount: amountMinor / 100 };
  }
  if (threeDecimals.has(currency) && amountMinor % 10 !== 0) {
    return { refused: `Stripe takes ${currency} amounts only if their third decimal is 0` };
  }
  return { amount: amountMinor };
}

const asIfTwoDecimals = new Set(['ISK', 'UGX']);
const threeDecimals = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);
