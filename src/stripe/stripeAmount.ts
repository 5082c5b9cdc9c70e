/**
 * The amounts that Stripe takes (https://docs.stripe.com/currencies). Imports refuse the rest, so that nobody learns only on
 * the day that an invoice is due that it cannot be paid. Our amounts are in ISO 4217 minor units. Stripe's are the same, with
 * these exceptions:
 * - ISK and UGX have no minor unit, but are sent as if they had two decimals;
 * - MGA has a minor unit, but is sent without it;
 * - currencies with three decimals only take amounts whose last digit is 0.
 */
const asIfTwoDecimals = new Set(['ISK', 'UGX']);
const withoutMinorUnit = new Set(['MGA']);
const threeDecimals = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);

/** Digits of the largest amount, in Stripe's units (https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts). */
const mostDigits: Readonly<Record<string, number>> = { IDR: 12, INR: 9 };
const mostDigitsElse = 8;

/**
 * The least that Stripe charges in a currency that its account settles in, in ISO 4217 minor units (the same page). An
 * account that settles in another currency may have to ask for more, which only Stripe can tell.
 */
const least: ReadonlyMap<string, number> = new Map(
  (
    [
      [30, 'GBP'],
      [50, 'AUD BRL CAD CHF EUR INR JPY NZD SGD USD'],
      [200, 'AED MYR PLN RON'],
      [250, 'DKK'],
      [300, 'NOK SEK'],
      [400, 'HKD'],
      [1000, 'MXN THB'],
      [1500, 'CZK'],
      [17_500, 'HUF'],
    ] as const
  ).flatMap(([amount, codes]) => codes.split(' ').map((code) => [code, amount] as const)),
);

/** Stripe's amount for an amount in minor units. Never rounded: what Stripe cannot take exactly is refused. */
export function stripeAmount(
  amountMinor: number,
  currency: string,
): { amount: number } | { refused: string } {
  if (asIfTwoDecimals.has(currency)) return { amount: amountMinor * 100 };
  const step = stepOf(currency);
  if (amountMinor % step !== 0)
    return { refused: `Stripe takes only ${currency} amounts ${stepText(currency)}` };
  return { amount: withoutMinorUnit.has(currency) ? amountMinor / step : amountMinor };
}

/** The amount in minor units that Stripe has as `amount`; the other way round, nothing is lost. */
export function minorAmount(amount: number, currency: string): number {
  if (asIfTwoDecimals.has(currency)) return Math.round(amount / 100);
  return withoutMinorUnit.has(currency) ? amount * stepOf(currency) : amount;
}

/** The smallest and the largest amount that Stripe takes, in minor units. */
export function amountLimits(currency: string): { least: number; most: number } {
  const mostForStripe = 10 ** (mostDigits[currency] ?? mostDigitsElse) - 1;
  const step = stepOf(currency);
  const most = asIfTwoDecimals.has(currency)
    ? Math.floor(mostForStripe / 100)
    : withoutMinorUnit.has(currency)
      ? mostForStripe * step
      : mostForStripe - (mostForStripe % step);
  return { least: least.get(currency) ?? step, most };
}

/** Returns the number that amounts in minor units must be a multiple of. */
function stepOf(currency: string): number {
  if (withoutMinorUnit.has(currency)) return 100;
  return threeDecimals.has(currency) ? 10 : 1;
}

function stepText(currency: string): string {
  return withoutMinorUnit.has(currency) ? 'without decimals' : 'whose third decimal is 0';
}
