import { invalid } from './refusal.ts';

/** Three decimals, the last of which must be 0: https://docs.stripe.com/currencies. */
const threeDecimals = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);
/** No decimals, but sent as if there were two: https://docs.stripe.com/currencies. */
const asIfTwoDecimals = new Set(['isk', 'ugx']);
/** https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts */
const maxDigits = new Map([
  ['idr', 12],
  ['inr', 9],
]);
const defaultMaxDigits = 8;

/** @throws {Refusal} */
export function checkAmount(amount: number, currency: string): void {
  if (!/^[a-z]{3}$/.test(currency)) throw invalid('currency', `Invalid currency: ${currency}.`);
  if (amount < 1) {
    throw invalid('amount', 'This value must be greater than or equal to 1.', 'parameter_invalid_integer');
  }
  const digits = maxDigits.get(currency) ?? defaultMaxDigits;
  if (amount >= 10 ** digits) {
    throw invalid('amount', `Amounts in ${currency} have at most ${digits} digits.`, 'amount_too_large');
  }
  if (threeDecimals.has(currency) && amount % 10 !== 0) {
    throw invalid('amount', `Amounts in ${currency} must end in 0.`, 'invalid_charge_amount');
  }
  if (asIfTwoDecimals.has(currency) && amount % 100 !== 0) {
    throw invalid(
      'amount',
      `Amounts in ${currency} must be whole: divisible by 100.`,
      'invalid_charge_amount',
    );
  }
}
