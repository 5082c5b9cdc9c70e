import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { testMethod } from '../../local/stripe/paymentMethods.ts';
import { generateSample } from '../../samples/generate.ts';
import { currencyExponent } from '../../src/invoice/currencies.ts';
import { stripeAmount } from '../../src/stripe/stripeAmount.ts';
import { readBody } from '../support/importing.ts';

const file = readFileSync('samples/invoices.csv', 'utf8');
const { rows, duplicates, rejected } = await readBody(file, 'text/csv');
const invoices = rows.map(({ invoice }) => invoice);

describe('samples/invoices.csv', () => {
  test('is what the generator writes', () => {
    expect(generateSample()).toBe(file);
  });

  test('has the rows its README describes', () => {
    expect([invoices.length, duplicates, rejected.length]).toEqual([384, 2, 14]);
    const due = invoices.filter(({ dueAt }) => dueAt < '2026');
    const counts = Map.groupBy(due, ({ paymentMethod }) => {
      const behaviour = testMethod(paymentMethod ?? '')?.charged;
      return behaviour?.kind === 'requiresAction' ? 'declines' : behaviour?.kind;
    });
    expect(Object.fromEntries([...counts].map(([kind, { length }]) => [kind, length]))).toEqual({
      succeeds: 300,
      fails: 10,
      declines: 34,
    });
    const later = invoices.filter(({ dueAt }) => dueAt > '2099');
    expect(later.map(({ paymentMethod }) => paymentMethod)).toEqual(Array.from(later, () => 'pm_card_visa'));
    expect(later.length).toBe(40);
  });

  test('has only temporary faults, so that every affected invoice is paid in the end', () => {
    const faults = invoices.flatMap(({ paymentMethod }) => {
      const behaviour = testMethod(paymentMethod ?? '')?.charged;
      return behaviour?.kind === 'fails' ? [behaviour] : [];
    });
    expect(faults.every(({ calls, fault }) => calls === 'first' && fault !== '500-after')).toBe(true);
  });

  test('has currencies with zero, two and three decimals, all in amounts Stripe accepts', () => {
    const decimals = new Set(invoices.map(({ currency }) => currencyExponent(currency)));
    expect(decimals).toEqual(new Set([0, 2, 3]));
    expect(new Set(invoices.map(({ currency }) => currency)).size).toBe(14);
    for (const { amountMinor, currency } of invoices) {
      expect(stripeAmount(amountMinor, currency)).toHaveProperty('amount');
    }
  });

  test('has a bad row of each kind', () => {
    const lines = file.split('\n').slice(1);
    expect(rejected.map(({ index, field }) => [lines[index]?.split(',')[0], field])).toEqual([
      ['INV-BAD-01', 'amount'],
      ['INV-BAD-02', 'amount'],
      ['INV-BAD-03', 'amount'],
      ['INV-BAD-04', 'amount'],
      ['INV-BAD-05', 'amount'],
      ['INV-BAD-06', 'amount'],
      ['INV-BAD-07', 'currency'],
      ['INV-BAD-08', 'currency'],
      ['INV/2025/0009', 'id'],
      ['INV-BAD-10', 'customerId'],
      ['INV-BAD-11', 'dueAt'],
      ['INV-BAD-12', 'dueAt'],
      ['INV-BAD-13', 'row'],
      ['INV-2025-0002', 'id'],
    ]);
  });
});
