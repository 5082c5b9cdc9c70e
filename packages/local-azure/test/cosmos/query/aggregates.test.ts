import { expect, it } from 'vitest';
import { tableOfItems } from './tableOfItems.ts';

const { all, add } = tableOfItems([
  { p: 'a', n: 1, m: 1, kind: 'x' },
  { p: 'a', n: 2.5, m: 'text', kind: 'y' },
  { p: 'b', n: -4, m: null, kind: 'x' },
  { p: 'b', m: true, kind: { z: 1, y: 2 } },
  { p: 'b', m: false, list: [1], kind: { y: 2, z: 1 } },
  { p: 'c', n: 10 },
]);
add({ p: 'c', n: 1000, kind: 'x' }, 1);

it.each<[query: string, results: unknown[]]>([
  ['SELECT VALUE COUNT(1) FROM c', [6]],
  ['SELECT COUNT(1) FROM c', [{ $1: 6 }]],
  ['SELECT VALUE COUNT(c.n) FROM c', [4]],
  ['SELECT VALUE SUM(c.n) FROM c', [9.5]],
  ['SELECT VALUE AVG(c.n) FROM c', [2.375]],
  ['SELECT MIN(c.n) AS low, MAX(c.n) AS high FROM c', [{ low: -4, high: 10 }]],
  ['SELECT VALUE SUM(c.n * 2) + COUNT(1) FROM c', [25]],
  ['SELECT VALUE COUNTIF(c.n > 1) FROM c', [2]],
  // One value that is not a number makes it undefined, and SELECT VALUE undefined has no result.
  ['SELECT VALUE SUM(c.m) FROM c', []],
  ['SELECT AVG(c.m) AS mean FROM c', [{}]],
  // Types compare in sort order: null, false, true, numbers, text. Arrays and objects make it undefined.
  ['SELECT MIN(c.m) AS low, MAX(c.m) AS high FROM c', [{ low: null, high: 'text' }]],
  ['SELECT MIN(c.list) AS low FROM c', [{}]],
  // Over nothing.
  ['SELECT VALUE COUNT(1) FROM c WHERE c.n > 99', [0]],
  ['SELECT VALUE SUM(c.n) FROM c WHERE c.n > 99', [0]],
  ['SELECT VALUE AVG(c.n) FROM c WHERE c.n > 99', []],
  ['SELECT VALUE MAX(c.n) FROM c WHERE c.n > 99', []],
  // Groups.
  [
    'SELECT c.p, COUNT(1) AS n, SUM(c.n) AS sum FROM c GROUP BY c.p',
    [
      { p: 'a', n: 2, sum: 3.5 },
      { p: 'b', n: 3, sum: -4 },
      { p: 'c', n: 1, sum: 10 },
    ],
  ],
  ['SELECT VALUE COUNT(1) FROM c GROUP BY c.p', [2, 3, 1]],
  ['SELECT VALUE UPPER(c.p) FROM c GROUP BY UPPER(c.p)', ['A', 'B', 'C']],
  ['SELECT c.p FROM c WHERE c.n > 0 GROUP BY c.p', [{ p: 'a' }, { p: 'c' }]],
  ['SELECT VALUE {part: c.p, n: COUNT(c.n)} FROM c WHERE c.n < 0 GROUP BY c.p', [{ part: 'b', n: 1 }]],
  // Items without the key form their own group. Objects are equal whatever the order of their properties.
  [
    'SELECT c.kind, COUNT(1) AS n FROM c GROUP BY c.kind',
    [{ n: 1 }, { kind: 'x', n: 2 }, { kind: 'y', n: 1 }, { kind: { z: 1, y: 2 }, n: 2 }],
  ],
  ['SELECT VALUE AVG(d.n) FROM (SELECT DISTINCT c.none FROM c) AS d', []],
  ['SELECT VALUE SUM(d.n) FROM (SELECT DISTINCT c.n FROM c WHERE c.n > 0) AS d', [13.5]],
  ['SELECT DISTINCT VALUE c.p FROM c', ['a', 'b', 'c']],
  ['SELECT DISTINCT c.p FROM c ORDER BY c.p DESC', [{ p: 'c' }, { p: 'b' }, { p: 'a' }]],
  ['SELECT DISTINCT VALUE c.kind FROM c', ['x', 'y', { z: 1, y: 2 }]],
  ['SELECT DISTINCT TOP 2 VALUE c.p FROM c', ['a', 'b']],
  ['SELECT DISTINCT VALUE c.p FROM c OFFSET 1 LIMIT 1', ['b']],
])('%s', (query, results) => {
  expect(all(query)).toEqual(results);
  expect(all(query, {}, { maxItems: 1 })).toEqual(results);
  expect(all(query, {}, { maxItems: 2 })).toEqual(results);
});
