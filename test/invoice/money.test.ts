import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { currencies, currencyExponent } from '../../src/invoice/currencies.ts';
import { formatAmount, parseAmount } from '../../src/invoice/money.ts';

const minorUnits = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const currency = fc.constantFrom(...currencies);

describe('parseAmount', () => {
  test.each([
    ['19.99', 'USD', 1999],
    ['0.29', 'EUR', 29],
    ['1.1', 'USD', 110],
    ['1', 'USD', 100],
    ['007.50', 'USD', 750],
    ['500', 'JPY', 500],
    ['1.234', 'KWD', 1234],
    ['1.2', 'KWD', 1200],
    ['0.0001', 'CLF', 1],
    ['90071992547409.91', 'USD', Number.MAX_SAFE_INTEGER],
    ['0', 'USD', 0],
  ])('%s %s is %i minor units', (text, code, amountMinor) => {
    expect(parseAmount(text, code)).toEqual({ kind: 'amount', amountMinor });
  });

  test.each([
    ['19.999', 'USD', 'at most 2 decimals'],
    ['19.900', 'USD', 'at most 2 decimals'],
    ['500.0', 'JPY', 'no decimals'],
    ['-1', 'USD', 'no sign'],
    ['+1', 'USD', 'no sign'],
    ['1e3', 'USD', 'no exponent'],
    ['1,000', 'USD', 'no thousands separators'],
    ["1'000", 'CHF', 'no thousands separators'],
    ['1_000', 'USD', 'no thousands separators'],
    [' 1', 'USD', 'no spaces'],
    ['1\u00a0000', 'EUR', 'no spaces'],
    ['.5', 'USD', 'both sides of the point'],
    ['5.', 'USD', 'both sides of the point'],
    ['1.2.3', 'USD', 'at most one point'],
    ['', 'USD', 'expected digits'],
    ['NaN', 'USD', 'expected digits'],
    ['Infinity', 'USD', 'expected digits'],
    ['0x10', 'USD', 'expected digits'],
    ['٣', 'USD', 'expected digits'],
    ['$5', 'USD', 'expected digits'],
    ['90071992547409.92', 'USD', 'too large'],
    ['9'.repeat(400), 'USD', 'too large'],
    ['1', 'XXX', 'not a currency'],
  ])('%j %s is refused: %s', (text, code, why) => {
    expect(parseAmount(text, code)).toEqual({ kind: 'bad', error: expect.stringContaining(why) });
  });

  test('an error shortens a long text', () => {
    expect(JSON.stringify(parseAmount('x'.repeat(10_000), 'USD')).length).toBeLessThan(200);
  });

  test('reads back every amount that formatAmount writes', () => {
    fc.assert(
      fc.property(minorUnits, currency, (amountMinor, code) => {
        expect(parseAmount(formatAmount(amountMinor, code), code)).toEqual({ kind: 'amount', amountMinor });
      }),
    );
  });

  test('agrees with exact arithmetic for any number of decimals', () => {
    const amounts = fc.tuple(
      fc.bigInt({ min: 0n, max: 10n ** 9n }),
      fc.stringMatching(/^\d{0,4}$/),
      currency,
    );
    fc.assert(
      fc.property(amounts, ([units, decimals, code]) => {
        const exponent = currencyExponent(code) ?? 0;
        const parsed = parseAmount(decimals === '' ? String(units) : `${units}.${decimals}`, code);
        if (decimals.length > exponent) expect(parsed.kind).toBe('bad');
        else {
          const exact = units * 10n ** BigInt(exponent) + BigInt(decimals.padEnd(exponent, '0') || '0');
          expect(parsed).toEqual({ kind: 'amount', amountMinor: Number(exact) });
        }
      }),
    );
  });
});

describe('formatAmount', () => {
  test.each([
    [1999, 'USD', '19.99'],
    [5, 'USD', '0.05'],
    [0, 'USD', '0.00'],
    [500, 'JPY', '500'],
    [1234, 'KWD', '1.234'],
    [1, 'CLF', '0.0001'],
    [-5, 'EUR', '-0.05'],
  ])('%i minor units of %s are %s', (amountMinor, code, text) => {
    expect(formatAmount(amountMinor, code)).toBe(text);
  });

  test('throws on a fraction of a minor unit, an unsafe integer and an unknown currency', () => {
    expect(() => formatAmount(19.99, 'USD')).toThrow(RangeError);
    expect(() => formatAmount(2 ** 53, 'USD')).toThrow(RangeError);
    expect(() => formatAmount(1, 'XXX')).toThrow(RangeError);
  });
});
