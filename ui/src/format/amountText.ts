import { currencyExponent } from '../../../src/invoice/currencies.ts';

/** `1,234.50`: minor units with the currency's decimals. A sum may be too large to be exact: then it says about. Pure. */
export function amountText(amountMinor: number, currency: string): string {
  const exponent = currencyExponent(currency) ?? 0;
  const digits = String(Math.abs(Math.round(amountMinor))).padStart(exponent + 1, '0');
  const units = exponent === 0 ? digits : digits.slice(0, -exponent);
  const decimals = exponent === 0 ? '' : `.${digits.slice(-exponent)}`;
  const grouped = units.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const about = Number.isSafeInteger(amountMinor) ? '' : 'about ';
  return `${about}${amountMinor < 0 ? '-' : ''}${grouped}${decimals}`;
}

export function countText(count: number): string {
  return count.toLocaleString('en-GB');
}

/** `1 invoice`, `7 invoices`. Pure. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** The sums of some amounts, one for each currency: `1,234.50 EUR + 20.00 USD`. Pure. */
export function sumsText(amounts: readonly { amountMinor: number; currency: string }[]): string {
  const sums = new Map<string, number>();
  for (const { amountMinor, currency } of amounts)
    sums.set(currency, (sums.get(currency) ?? 0) + amountMinor);
  return [...sums].map(([currency, sum]) => `${amountText(sum, currency)} ${currency}`).join(' + ');
}
