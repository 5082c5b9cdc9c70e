import { expect, test } from 'vitest';
import { addUp, type Figures } from '../../local/start/figures.ts';
import { report } from '../../local/start/report.ts';

const figures: Figures = { invoices: [], charges: [], undispatched: 0 };

function linesWith(refused: Record<string, number>): string[] {
  return report({
    imported: { created: 0, duplicates: 0, rejected: [] },
    figures,
    sums: addUp(figures),
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
