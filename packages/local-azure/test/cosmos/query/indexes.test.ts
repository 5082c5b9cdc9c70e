import { describe, expect, it, vi } from 'vitest';
import { tableOfItems } from './tableOfItems.ts';

/** SQLite's plan for the last statement that the engine ran, one line per step. */
function planOf(query: string, parameters: Record<string, unknown>, partition?: unknown) {
  const table = tableOfItems([{ p: 'a', type: 't', at: 'x', n: 1 }]);
  const prepare = vi.spyOn(table.db, 'prepare');
  table.page(query, parameters, { partition });
  const sql = prepare.mock.calls.at(-1)?.[0] ?? '';
  const steps = table.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.map(({ detail }) => String(detail));
}

describe('an index serves the query', () => {
  it.each<[query: string, sought: string]>([
    [
      'SELECT TOP 50 * FROM c WHERE c.type = @t AND c.at <= @now ORDER BY c.at',
      '(pk=? AND <expr>=? AND <expr>=? AND <expr>=? AND <expr><?)',
    ],
    ['SELECT * FROM c WHERE c.type = "t"', '(pk=? AND <expr>=? AND <expr>=?)'],
    ['SELECT * FROM c WHERE c.type = "t" ORDER BY c.at DESC', '(pk=? AND <expr>=? AND <expr>=?)'],
    ['SELECT * FROM c WHERE c.at > @now', '(pk=? AND <expr>=? AND <expr>>?)'],
    ['SELECT * FROM c WHERE c.at BETWEEN "a" AND "b"', '(pk=? AND <expr>=? AND <expr>>? AND <expr><?)'],
    ['SELECT * FROM c WHERE STARTSWITH(c.at, "a")', '(pk=? AND <expr>=? AND <expr>>? AND <expr><?)'],
    ['SELECT * FROM c WHERE c.type IN ("a", "b")', '(pk=? AND <expr>=? AND <expr>=?)'],
    ['SELECT * FROM c WHERE c.id = "i1"', '(pk=? AND id=?)'],
    ['SELECT * FROM c WHERE c.id IN ("i1", "i2")', '(pk=? AND id=?)'],
    ['SELECT * FROM c ORDER BY c.at DESC, c.n', '(pk=?)'],
    ['SELECT * FROM c', '(pk=?)'],
  ])('%s', (query, sought) => {
    const plan = planOf(query, { t: 't', now: 'y' }, 'a');

    expect(plan[0]).toContain('SEARCH r USING INDEX');
    expect(plan[0]).toContain(sought);
  });

  it.each([
    'SELECT TOP 50 * FROM c WHERE c.type = @t AND c.at <= @now ORDER BY c.at',
    'SELECT * FROM c WHERE c.type = @t ORDER BY c.at DESC',
    'SELECT * FROM c WHERE c.type = @t ORDER BY c.at DESC, c.n',
    'SELECT * FROM c WHERE c.type = @t',
  ])('%s without a sort', (query) => {
    const plan = planOf(query, { t: 't', now: 'y' });

    expect(plan).toHaveLength(1);
    expect(plan[0]).toContain('SEARCH r USING INDEX');
  });
});

it('queries create one index per shape and at most 32 per table', () => {
  const { db, page } = tableOfItems([{ n: 1 }]);
  const count = () =>
    db.prepare(`SELECT count(*) AS n FROM sqlite_master WHERE type = 'index' AND name LIKE 'query%'`).get()
      ?.n;

  page('SELECT * FROM c WHERE c.a = 1 ORDER BY c.b');
  page('SELECT * FROM c WHERE c.a = 2 ORDER BY c.b DESC');
  page('SELECT * FROM c WHERE c.a = 2');
  expect(count()).toBe(1);

  for (let index = 0; index < 40; index++) page(`SELECT * FROM c WHERE c.x${index} = 1`);
  expect(count()).toBe(32);
});
