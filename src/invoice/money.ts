import { currencyExponent } from './currencies.ts';
export type ParsedAmount = { kind: 'amount'; amountMinor: number } | { kind: 'bad'; error: string };

/**
 * Converts a decimal amount to minor units without floating point: "19.99" USD is 1999, "500" JPY is 500. The amount
 * has digits and at most one point, and no more decimals than the currency.
 */
export function parseAmount(text: string, currency: string): ParsedAmount {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) return bad(`"${currency}" is not a currency`);
  const shape = amountShapeError(text);
  if (shape !== undefined) return bad(shape);
  const [units = '', decimals = ''] = text.split('.');
  if (decimals.length > exponent) {
    const most = exponent === 0 ? 'no decimals' : `at most ${exponent} decimals`;
    return bad(`expected ${most} for ${currency}, not "${shortened(text)}"`);
  }
  const amountMinor = Number(units + decimals.padEnd(exponent, '0'));
  if (!Number.isSafeInteger(amountMinor)) return bad(`"${shortened(text)}" is too large to count exactly`);
  return { kind: 'amount', amountMinor };
}

/**
 * The decimal text of an amount in minor units, with all the decimals of its currency.
 *
 * @throws RangeError if the currency is unknown or the amount is not a safe integer
 */
export function formatAmount(amountMinor: number, currency: string): string {
  const exponent = currencyExponent(currency);
  if (exponent === undefined) throw new RangeError(`"${currency}" is not a currency`);
  if (!Number.isSafeInteger(amountMinor))
    throw new RangeError(`${amountMinor} is not a number of minor units`);
  const digits = String(Math.abs(amountMinor)).padStart(exponent + 1, '0');
  const sign = amountMinor < 0 ? '-' : '';
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** The fault of an amount in any currency, or undefined. */
export function amountShapeError(text: string): string | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return undefined;
  return `expected digits with at most one point, like 19.99${whatElse(text)}, not "${shortened(text)}"`;
}

function whatElse(text: string): string {
  if (/\s/.test(text)) return ' and no spaces';
  if (/^[+-]/.test(text)) return ' and no sign';
  if (/\d[eE][+-]?\d/.test(text)) return ' and no exponent';
  if (/[,'’_]/.test(text)) return ' and no thousands separators';
  if (/^\.|\.$/.test(text)) return ' and digits on both sides of the point';
  return '';
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function bad(error: string): ParsedAmount {
  return { kind: 'bad', error };
}
