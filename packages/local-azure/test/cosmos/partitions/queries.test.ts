// The same query over one partition key range, which the stand-in answers alone, and over several, which the SDK merges.
import type { SqlQuerySpec } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TwoContainers, twoContainers } from './twoContainers.ts';

const kinds = ['a', 'b', 'c'];
const items = Array.from({ length: 90 }, (_, n) => ({
  id: `i${String(n).padStart(2, '0')}`,
  pk: `p${n % 17}`,
  kind: kinds[n % 3],
  n: (n * 37) % 101,
  at: new Date(Date.UTC(2026, 0, 1) + ((n * 53) % 90) * 3_600_000).toISOString(),
  tags: [`t${n % 4}`, `t${n % 5}`],
  ...(n % 7 === 0 ? { rare: { of: n } } : {}),
  ...(n % 9 === 0 ? { gone: null } : {}),
}));

let containers: TwoContainers;
beforeAll(async () => {
  containers = await twoContainers(items);
});
afterAll(() => containers[Symbol.asyncDispose]());

async function both(query: string | SqlQuerySpec, options: { maxItemCount?: number } = {}) {
  const all = await Promise.all(
    [containers.one, containers.several].map((container) =>
      // The SDK changes the options that it gets.
      container.items.query<unknown>(query, { ...options }).fetchAll(),
    ),
  );
  return all.map(({ resources }) => resources.map(comparable));
}

/** System properties differ between two accounts. */
function comparable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith('_')));
}

const inAnyOrder = (list: readonly unknown[] | undefined) =>
  (list ?? []).map((each) => JSON.stringify(each)).sort();

describe('in any order', () => {
  test.each([
    ['SELECT * FROM c', 90],
    [`SELECT * FROM c WHERE c.kind = 'a'`, 30],
    ['SELECT c.id, c.n AS number FROM c WHERE c.n BETWEEN 10 AND 20', 10],
    ['SELECT VALUE c.rare.of FROM c', 13],
    [`SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = 't3'`, 40],
    ['SELECT DISTINCT c.kind FROM c', 3],
    ['SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags', 5],
    ['SELECT VALUE COUNT(1) FROM c', 1],
    [`SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'none'`, 1],
    ['SELECT VALUE COUNT(c.rare) FROM c', 1],
    ['SELECT VALUE COUNTIF(c.n > 50) FROM c', 1],
    ['SELECT VALUE SUM(c.n) FROM c', 1],
    ['SELECT VALUE AVG(c.n) FROM c WHERE c.n < 40', 1],
    ['SELECT VALUE MIN(c.at) FROM c', 1],
    ['SELECT VALUE MAX(c.n) FROM c', 1],
    ['SELECT VALUE MAX(c.rare.of) FROM c', 1],
    [
      'SELECT COUNT(1) AS n, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.at) AS first, MAX(c.at) AS last FROM c',
      1,
    ],
    ['SELECT COUNT(1), SUM(c.n) FROM c', 1],
    ['SELECT c.kind, COUNT(1) AS n FROM c GROUP BY c.kind', 3],
    ['SELECT c.kind, AVG(c.n) AS mean, MAX(c.at) AS last FROM c WHERE c.n > 5 GROUP BY c.kind', 3],
    [
      'SELECT SUBSTRING(c.at, 0, 10) AS day, COUNT(1) AS n, SUM(c.n) AS sum FROM c GROUP BY SUBSTRING(c.at, 0, 10)',
      4,
    ],
    ['SELECT c.kind, c.pk, COUNT(1) AS n FROM c GROUP BY c.kind, c.pk', 51],
    ['SELECT VALUE c.kind FROM c GROUP BY c.kind', 3],
    ['SELECT t, COUNT(1) AS n FROM c JOIN t IN c.tags GROUP BY t', 5],
  ])('%s', async (query, count) => {
    const [one, several] = await both(query);
    expect(one).toHaveLength(count);
    expect(inAnyOrder(several)).toEqual(inAnyOrder(one));
  });

  test('the least of nothing is nothing', async () => {
    const [one, several] = await both('SELECT VALUE MIN(c.at) FROM c WHERE c.n > 1000');
    expect([one, several?.filter((value) => value !== undefined)]).toEqual([[], []]);
  });

  test('TOP and LIMIT without an order give some of them', async () => {
    for (const query of ['SELECT TOP 7 * FROM c', 'SELECT * FROM c OFFSET 80 LIMIT 20']) {
      const [one, several] = await both(query);
      expect(several).toHaveLength(one?.length ?? -1);
      expect(new Set(inAnyOrder(several)).size).toBe(several?.length);
    }
  });
});

describe('in order', () => {
  test.each([
    ['SELECT * FROM c ORDER BY c.id', 90],
    ['SELECT * FROM c ORDER BY c.at DESC', 90],
    ['SELECT * FROM c ORDER BY c.kind ASC, c.n DESC', 90],
    ['SELECT c.id, c.n FROM c WHERE c.n > 20 ORDER BY c.id DESC', 71],
    ['SELECT VALUE c.id FROM c ORDER BY c.at', 90],
    ['SELECT VALUE c.rare.of FROM c ORDER BY c.id', 13],
    [`SELECT c.id, t FROM c JOIN t IN c.tags WHERE t != 't0' AND t != 't1' ORDER BY c.id`, 98],
    ['SELECT TOP 5 * FROM c ORDER BY c.id', 5],
    ['SELECT * FROM c ORDER BY c.id OFFSET 30 LIMIT 7', 7],
    ['SELECT * FROM c ORDER BY c.id OFFSET 85 LIMIT 50', 5],
    [`SELECT * FROM c WHERE c.kind = 'a' OR c.n < 10 ORDER BY c.id OFFSET 0 LIMIT 12`, 12],
    ['SELECT c["kind"], {"deep": [c.n, -1, "\\"x\\""]} AS made FROM c ORDER BY c.id', 90],
  ])('%s', async (query, count) => {
    for (const maxItemCount of [100, 4]) {
      const [one, several] = await both(query, { maxItemCount });
      expect(one).toHaveLength(count);
      expect(several).toEqual(one);
    }
  });

  test('with parameters, as LIMIT has them too', async () => {
    const parameters = [
      { name: '@least', value: 30 },
      { name: '@limit', value: 9 },
      { name: '@kinds', value: ['a', 'c'] },
    ];
    const query = `SELECT * FROM c WHERE c.n >= @least AND ARRAY_CONTAINS(@kinds, c.kind) ORDER BY c.at OFFSET 0 LIMIT @limit`;
    const [one, several] = await both({ query, parameters });
    expect(one).toHaveLength(9);
    expect(several).toEqual(one);
  });

  test('null as a sort key is refused by the SDK, as with the service', async () => {
    const query = 'SELECT * FROM c WHERE IS_NULL(c.gone) ORDER BY c.gone';
    await expect(containers.several.items.query(query).fetchAll()).rejects.toThrow('unrecognizable type');
  });

  test('an undefined sort key beside a text is refused by the SDK, as with the service', async () => {
    const query = 'SELECT * FROM c ORDER BY c.rare.of';
    await expect(containers.several.items.query(query).fetchAll()).rejects.toThrow('mixed types');
  });
});

describe('pages whose continuation another client takes up (enableQueryControl)', () => {
  test.each([
    ['SELECT c.id FROM c ORDER BY c.id', 90],
    [`SELECT c.id FROM c WHERE c.kind = 'b' ORDER BY c.at DESC`, 30],
    ['SELECT c.id FROM c WHERE c.n > 50', 44],
  ])('%s', async (query, count) => {
    const found: string[] = [];
    let continuationToken: string | undefined;
    let pages = 0;
    do {
      const options = {
        enableQueryControl: true,
        // No range has a multiple of it: a full last page would make the SDK (4.10) ask for ever.
        maxItemCount: 9,
        ...(continuationToken && { continuationToken }),
      };
      const page = await containers.several.items.query<{ id: string }>(query, options).fetchNext();
      found.push(...(page.resources ?? []).map(({ id }) => id));
      continuationToken = page.continuationToken;
      pages++;
    } while (continuationToken !== undefined && pages < 100);
    expect(new Set(found).size).toBe(count);
    expect(found).toHaveLength(count);
    if (query.includes('ORDER BY')) {
      const [one] = await both(query);
      expect(found).toEqual(one?.map((each) => (each as { id: string }).id));
    }
  });
});

describe('what cannot be planned is refused by name', () => {
  test.each([
    ['SELECT DISTINCT c.kind FROM c ORDER BY c.kind', 'DISTINCT with ORDER BY'],
    ['SELECT VALUE COUNT(1) FROM c ORDER BY c.id', 'ORDER BY together with aggregates'],
    ['SELECT VALUE COUNT(1) + 1 FROM c', 'an expression over aggregates'],
    ['SELECT c.kind, {"n": COUNT(1)} AS o FROM c GROUP BY c.kind', 'an expression over aggregates'],
    ['SELECT TOP 1 VALUE COUNT(1) FROM c', 'TOP or LIMIT together with aggregates'],
    [
      'SELECT VALUE t FROM t IN c.tags ORDER BY t',
      'ORDER BY where FROM begins with something else than the item',
    ],
  ])('%s', async (query, feature) => {
    await expect(containers.several.items.query(query).fetchAll()).rejects.toMatchObject({
      code: 501,
      message: expect.stringContaining(feature),
    });
  });
});

describe('a subquery over all items that each range would answer by itself is refused by name', () => {
  test.each([
    'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.kind FROM c)',
    'SELECT VALUE SUM(x) FROM (SELECT DISTINCT VALUE c.n FROM c) AS x',
    'SELECT VALUE x FROM (SELECT VALUE COUNT(1) FROM c) AS x',
    'SELECT VALUE x FROM (SELECT c.kind, COUNT(1) AS n FROM c GROUP BY c.kind) AS x',
    'SELECT VALUE x FROM (SELECT TOP 1 VALUE c.n FROM c) AS x',
    'SELECT VALUE x FROM (SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 0 LIMIT 1) AS x',
    'SELECT VALUE y FROM (SELECT VALUE x FROM (SELECT VALUE COUNT(1) FROM c) AS x) AS y',
  ])('%s', async (query) => {
    for (const forceQueryPlan of [false, true]) {
      const { items } = containers.several;
      await expect(items.query(query, { forceQueryPlan }).fetchAll()).rejects.toMatchObject({
        code: 501,
        message: expect.stringContaining('a subquery in FROM with DISTINCT'),
      });
    }
  });

  test.each([
    ['a filter and a projection', 'SELECT VALUE x.n FROM (SELECT VALUE c FROM c WHERE c.n > 50) AS x', 44],
    ['counted outside', 'SELECT VALUE COUNT(1) FROM (SELECT VALUE c.n FROM c WHERE c.n > 50) AS x', 1],
    [
      'joined, so within one item',
      'SELECT c.id, n FROM c JOIN (SELECT VALUE COUNT(1) FROM t IN c.tags) AS n',
      90,
    ],
  ])('not one with %s', async (_what, query, count) => {
    const [one, several] = await both(query);
    expect(one).toHaveLength(count);
    expect(inAnyOrder(several)).toEqual(inAnyOrder(one));
  });
});
