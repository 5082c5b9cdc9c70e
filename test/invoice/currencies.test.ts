import { describe, expect, test } from 'vitest';
import { currencies, currencyExponent } from '../../src/invoice/currencies.ts';

const shownDecimals = (currency: string) =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;

describe('currencies', () => {
  test.each([
    ['USD', 2],
    ['EUR', 2],
    ['JPY', 0],
    ['KRW', 0],
    ['KWD', 3],
    ['TND', 3],
    ['CLF', 4],
    ['ISK', 0],
    ['UGX', 0],
    ['HUF', 2],
    ['IDR', 2],
    ['XCG', 2],
  ])('%s has the exponent %i', (code, exponent) => {
    expect(currencyExponent(code)).toBe(exponent);
  });

  test.each(['usd', 'XXX', 'XAU', 'BTC', 'HRK', 'BGN', 'ANG', '', 'constructor'])(
    '"%s" is not a currency',
    (code) => {
      expect(currencyExponent(code)).toBeUndefined();
    },
  );

  test('are the 178 codes of ISO 4217 minus the 13 without a minor unit', () => {
    expect(new Set(currencies).size).toBe(178 - 13);
    expect(currencies.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
  });

  test('agree with Intl except where CLDR rounds for display; if a newer Intl differs elsewhere, check the list', () => {
    const known = Intl.supportedValuesOf('currency').filter((code) => currencyExponent(code) !== undefined);
    expect(known.length).toBeGreaterThan(150);
    const differing = known.filter((code) => shownDecimals(code) !== currencyExponent(code));
    expect(differing.filter((code) => shownDecimals(code) !== 0)).toEqual([]);
    expect(differing.join(' ')).toBe('AFN ALL COP HUF IDR IQD IRR KPW LAK LBP MGA MMK PKR SOS SYP YER');
  });
});
