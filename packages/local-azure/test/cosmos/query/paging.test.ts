import { describe, expect, it } from 'vitest';
import { BadQuery } from '../../../src/cosmos/query/index.ts';
import { type Item, NOW_SECONDS, tableOfItems } from './tableOfItems.ts';

const numbered = (count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ p: 'a', n: index * 10, group: index % 3 }));

describe('a page', () => {
  it('has a continuation when it is full, unless TOP, LIMIT or an aggregate allows no more', () => {
    const { page } = tableOfItems(numbered(4));
    const sizes = (query: string, maxItems: number) => {
      const found: number[] = [];
      let continuation: string | undefined;
      do {
        const next = page(query, {}, { maxItems, continuation });
        found.push(next.items.length);
        continuation = next.continuation;
      } while (continuation !== undefined);
      return found;
    };

    expect(sizes('SELECT * FROM c', 2)).toEqual([2, 2, 0]);
    expect(sizes('SELECT * FROM c', 3)).toEqual([3, 1]);
    expect(sizes('SELECT TOP 3 * FROM c', 2)).toEqual([2, 1]);
    expect(sizes('SELECT TOP 2 * FROM c', 2)).toEqual([2]);
    expect(sizes('SELECT TOP 0 * FROM c', 2)).toEqual([0]);
    expect(sizes('SELECT * FROM c ORDER BY c.n OFFSET 1 LIMIT 2', 1)).toEqual([1, 1]);
    expect(sizes('SELECT * FROM c OFFSET 3 LIMIT 9', 2)).toEqual([1]);
    expect(sizes('SELECT VALUE COUNT(1) FROM c', 1)).toEqual([1]);
    expect(sizes('SELECT * FROM c WHERE c.n < 0', 1)).toEqual([0]);
    expect(sizes('SELECT * FROM c', -1)).toEqual([4]);
  });

  it('ends with the item that takes it over 4 MB', () => {
    const big = 'x'.repeat(3 * 1024 * 1024);
    const { page } = tableOfItems([{ big }, { big }, { big }]);

    const first = page('SELECT * FROM c', {}, { maxItems: 100 });

    expect(first.items).toHaveLength(2);
    const second = page('SELECT * FROM c', {}, { maxItems: 100, continuation: first.continuation });
    expect(second.items).toHaveLength(1);
    expect(second.continuation).toBeUndefined();
  });

  it.each([
    'SELECT VALUE c.n FROM c',
    'SELECT VALUE c.n FROM c ORDER BY c.n',
    'SELECT VALUE c.n FROM c WHERE c.n >= 0 ORDER BY c.n',
  ])('%s resumes where it stopped, whatever is written in between', (query) => {
    const { page, add, db, table } = tableOfItems(numbered(4));
    const first = page(query, {}, { maxItems: 2 });
    expect(first.items).toEqual([0, 10]);

    db.exec(`DELETE FROM "${table}" WHERE id = 'i1'`);
    db.exec(`DELETE FROM "${table}" WHERE id = 'i2'`);
    add({ p: 'a', n: 35 });

    const { items } = page(query, {}, { maxItems: 5, continuation: first.continuation });
    expect(new Set(items)).toEqual(new Set([20, 30, 35]));
  });

  it('resumes among equal sort values and among items without one', () => {
    const items = [{ s: 1 }, {}, { s: 1 }, { s: null }, {}, { s: 1 }, { s: 'a' }];
    const { all } = tableOfItems(items);
    const query = 'SELECT VALUE c.id FROM c ORDER BY c.s';

    expect(all(query, {}, { maxItems: 1 })).toEqual(['i2', 'i5', 'i4', 'i1', 'i3', 'i6', 'i7']);
    expect(all(`${query} DESC`, {}, { maxItems: 1 })).toEqual(['i7', 'i6', 'i3', 'i1', 'i4', 'i5', 'i2']);
  });

  it('sorts by several keys in mixed directions, numbers beyond 2^53 included', () => {
    const items = [
      { a: 1, b: 'x' },
      { a: 1, b: 'y' },
      { a: 1e17, b: 'z' },
      { a: 1e17, b: 'a' },
    ];
    const { all } = tableOfItems(items);

    const found = all('SELECT VALUE c.id FROM c ORDER BY c.a DESC, c.b ASC', {}, { maxItems: 1 });

    expect(found).toEqual(['i4', 'i3', 'i1', 'i2']);
  });
});

it.each(['nonsense', '', Buffer.from('{"q":"x","n":-1}').toString('base64url')])(
  'the continuation %j is refused',
  (continuation) => {
    const { page } = tableOfItems(numbered(3));
    expect(() => page('SELECT * FROM c', {}, { continuation })).toThrow(BadQuery);
  },
);

it('a continuation is valid for its own query only', () => {
  const { page } = tableOfItems(numbered(3));
  const { continuation } = page('SELECT * FROM c WHERE c.n >= @n', { n: 0 }, { maxItems: 1 });

  expect(() => page('SELECT * FROM c', {}, { continuation })).toThrow(/another query/);
  expect(() => page('SELECT * FROM c WHERE c.n >= @n', { n: 1 }, { continuation })).toThrow(/another query/);
});

it('a partition is read alone, and expired items are left out', () => {
  const { all, add } = tableOfItems([{ p: 'a', n: 1 }, { p: 'b', n: 2 }, { p: 'b', n: 3 }, { n: 4 }]);
  add({ p: 'b', n: 5 }, NOW_SECONDS);
  add({ p: 'b', n: 6 }, NOW_SECONDS + 1);

  expect(all('SELECT VALUE c.n FROM c', {}, { partition: 'b' })).toEqual([2, 3, 6]);
  expect(all('SELECT VALUE COUNT(1) FROM c', {}, { partition: 'b' })).toEqual([3]);
  expect(all('SELECT VALUE c.n FROM c')).toEqual([1, 2, 3, 4, 6]);
});
