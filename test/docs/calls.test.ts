import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callTables } from '../../scripts/callTables.ts';
import { calls } from '../../src/ops/calls.ts';
import { root } from '../infra/sources.ts';

const page = readFileSync(join(root, 'docs/calls.md'), 'utf8');

test('docs/calls.md has the tables that the schemas give (npm run check -- calls writes them)', () => {
  const [, tables] =
    /<!-- npm run check -- calls[^>]*-->\n\n([\s\S]*?)\n\n<!-- end of calls -->/.exec(page) ?? [];
  expect(tables).toBe(callTables());
});

test('every call has one row, with what it asks for, its answer and its refusals', () => {
  const named = [...page.matchAll(/^\| `([A-Z]+ ops\/[^`?]*)/gm)].map(([, call = '']) => call);
  const declared = Object.values(calls).map(({ method, route }) => `${method} ${route}`);
  expect(named.toSorted()).toEqual(declared.toSorted());
  expect(page).toContain(
    '| `POST ops/invoices/{id}/refund` `{amountMinor?, reason}`, with `Idempotency-Key` ' +
      '| Orders a refund of a paid invoice, of all that was not refunded if no amount is given ' +
      '| 202 `{refundId, status, amountMinor}` | 404, 409 |',
  );
});
