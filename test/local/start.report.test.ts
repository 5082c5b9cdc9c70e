import { expect, test } from 'vitest';
import { addUp, type Figures, type InvoiceFigure } from '../../local/start/figures.ts';
import { progressLine, report } from '../../local/start/report.ts';

const figures: Figures = { invoices: [], charges: [], undispatched: 0 };

function linesWith(refused: Record<string, number>, invoices: InvoiceFigure[] = []): string[] {
  return report({
    imported: { created: 0, duplicates: 0, rejectedCount: 0, rejected: [] },
    figures,
    sums: addUp({ ...figures, invoices }),
    refused,
    chargedBefore: 0,
  });
}

test('the report says how many payment calls were refused, by endpoint', () => {
  const lines = linesWith({ create: 40, search: 2, list: 0 });
  const at = lines.findIndex((line) => line.startsWith('Refused'));
  expect(lines.slice(at, at + 4)).toEqual([
    "Refused     42 payment calls over the provider's rate limit (429):",
    '              create: 40',
    '              search: 2',
    'Charged twice: 0',
  ]);
});

test('without a refused call it says nothing of them', () => {
  expect(linesWith({ create: 0, search: 0 }).join('\n')).not.toContain('Refused');
});

function pending(id: string, ...entries: string[]): InvoiceFigure {
  const timeline = ['imported', ...entries].map((what) => ({ what, by: 'h1' }));
  return { id, status: 'pending', amountMinor: 100, currency: 'USD', timeline };
}

test('the report says how many wait for a later retry, and why', () => {
  const lines = linesWith({}, [
    pending('a'),
    pending('b', 'claimed', 'retry: transient'),
    pending('c', 'claimed', 'retry: declined'),
    pending('d', 'claimed', 'retry: declined', 'claimed', 'retry: transient'),
    pending('e', 'claimed', 'declined', 'retried'),
  ]);
  const at = lines.findIndex((line) => line.startsWith('Waiting'));
  expect(lines.slice(at, at + 3)).toEqual([
    'Waiting     5: 2 due later, 3 for a later retry',
    '              soft declines: 1',
    '              transient: 2',
  ]);
  expect(lines.slice(-2)).toEqual([
    'Everything adds up.',
    'Not everything is paid: 3 wait for a later retry.',
  ]);
});

test('without a later retry it says so, and ends with the good news', () => {
  const lines = linesWith({}, [pending('a')]);
  expect(lines).toContain('Waiting     1: 1 due later, 0 for a later retry');
  expect(lines.at(-1)).toBe('Everything adds up.');
});

test('the progress says how many are charged and not yet recorded as paid', () => {
  const invoices = [pending('a'), { ...pending('b'), status: 'claimed' as const }];
  const charges = ['b', 'c'].map((invoiceId) => ({ invoiceId, amount: 100, currency: 'usd' }));
  const line = (of: InvoiceFigure[]) => progressLine({ ...figures, invoices: of, charges }, 0);
  expect(line(invoices)).toMatch(/claimed 1 .* charges 2 {3}charged, being confirmed: 1$/);
  expect(line(invoices.map((one) => ({ ...one, status: 'paid' as const })))).toMatch(/paid 2 .* charges 2$/);
});

test('the progress says how many charges there were in a second lately', () => {
  const now = Date.parse('2026-01-01T12:00:00.000Z');
  const charge = (secondsAgo: number) => ({
    invoiceId: 'inv-1',
    amount: 1,
    currency: 'usd',
    createdAt: new Date(now - secondsAgo * 1000).toISOString(),
  });
  const charges = [...Array.from({ length: 125 }, () => charge(4.9)), charge(5), charge(60)];
  expect(progressLine({ ...figures, charges }, now)).toMatch(/charges 127 \(25 a second\)$/);
  expect(progressLine({ ...figures, charges }, now + 10_000)).toMatch(/charges 127$/);
});
