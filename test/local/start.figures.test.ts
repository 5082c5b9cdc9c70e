import { describe, expect, test } from 'vitest';
import { addUp, type Figures, type InvoiceFigure, isSettled } from '../../local/start/figures.ts';

function invoice(changes: Partial<InvoiceFigure>): InvoiceFigure {
  return {
    id: 'a',
    status: 'paid',
    amountMinor: 100,
    currency: 'USD',
    timeline: [{ what: 'paid', by: 'h1' }],
    ...changes,
  };
}

function figures(changes: Partial<Figures>): Figures {
  return {
    invoices: [invoice({})],
    charges: [{ invoiceId: 'a', amount: 100, currency: 'usd' }],
    undispatched: 0,
    ...changes,
  };
}

describe('adding up', () => {
  test('paid and charged once with the right amount adds up', () => {
    expect(addUp(figures({}))).toMatchObject({ problems: [], chargedTwice: 0, paidBy: new Map([['h1', 1]]) });
  });

  const charge = { invoiceId: 'a', amount: 100, currency: 'usd' };
  test.each([
    ['charged twice', figures({ charges: [charge, charge] }), 'a was charged 2 times'],
    ['never charged', figures({ charges: [] }), 'a is paid, but the ledger has no charge'],
    ['another amount', figures({ charges: [{ ...charge, amount: 99 }] }), 'a: charged 99 usd for 100 USD'],
    [
      'another currency',
      figures({ charges: [{ ...charge, currency: 'eur' }] }),
      'a: charged 100 eur for 100 USD',
    ],
    [
      'declined but charged',
      figures({ invoices: [invoice({ status: 'declined' })] }),
      'a is declined, but was charged',
    ],
    [
      'an unknown invoice',
      figures({ charges: [charge, { ...charge, invoiceId: 'b' }] }),
      'b was charged, but there is no such invoice',
    ],
    [
      'parked',
      figures({ invoices: [invoice({ status: 'parked', reason: 'x' })], charges: [] }),
      'a is parked: x',
    ],
  ])('%s does not add up', (_name, given, problem) => {
    expect(addUp(given).problems).toEqual([problem]);
  });
});

describe('settled', () => {
  const now = Date.parse('2026-01-01T12:00:00Z');
  test.each([
    ['everything paid', figures({}), true],
    ['an outbox message is left', figures({ undispatched: 1 }), false],
    ['one is claimed', figures({ invoices: [invoice({ status: 'claimed' })] }), false],
    [
      'one is due for a retry soon',
      figures({ invoices: [invoice({ status: 'pending', actionableAt: '2026-01-01T12:00:30Z' })] }),
      false,
    ],
    [
      'one is due tomorrow',
      figures({ invoices: [invoice({ status: 'pending', actionableAt: '2026-01-02T12:00:00Z' })] }),
      true,
    ],
  ])('%s', (_name, given, expected) => {
    expect(isSettled(given, now)).toBe(expected);
  });
});
