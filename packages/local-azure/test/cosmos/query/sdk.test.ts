import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { beforeAll, describe, expect, it } from 'vitest';
import { removeFolder } from '../../../../../test/support/removeFolder.ts';
import { startCosmos } from '../../../src/cosmos/index.ts';
import { clientOf, cosmosForFile, newContainer, refusalOf } from '../openContainer.ts';

const cosmos = await cosmosForFile();
const container = await newContainer(cosmos, {
  indexingPolicy: {
    compositeIndexes: [
      [
        { path: '/group', order: 'ascending' },
        { path: '/n', order: 'descending' },
      ],
    ],
  },
});

const ids = (numbers: number[]) => numbers.map((number) => `i${String(number).padStart(2, '0')}`);
const count = 12;
const everyId = ids(Array.from({ length: count }, (_, index) => index));

beforeAll(async () => {
  for (const [index, id] of everyId.entries()) {
    const tags = index % 2 === 0 ? ['even', `t${index % 3}`] : [];
    await container.items.create({ id, pk: `p${index % 3}`, n: index, group: index % 4, tags });
  }
});

async function inPages(query: string | SqlQuerySpec, options: FeedOptions): Promise<unknown[]> {
  const results: unknown[] = [];
  const iterator = container.items.query(query, options);
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    results.push(...((resources ?? []) as unknown[]));
  }
  return results;
}

/** One query per shape of result, with the expected results over all partitions and over `p0`. */
const SHAPES: [query: string, all: unknown[], inPartition: unknown[]][] = [
  ['SELECT VALUE c.id FROM c', everyId, ids([0, 3, 6, 9])],
  ['SELECT VALUE c.id FROM c WHERE c.n >= 8', ids([8, 9, 10, 11]), ids([9])],
  ['SELECT VALUE c.id FROM c ORDER BY c.n DESC', [...everyId].reverse(), ids([9, 6, 3, 0])],
  [
    'SELECT VALUE c.id FROM c ORDER BY c.group ASC, c.n DESC',
    ids([8, 4, 0, 9, 5, 1, 10, 6, 2, 11, 7, 3]),
    ids([0, 9, 6, 3]),
  ],
  ['SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n', [0, 1, 2], [0, 3, 6]],
  ['SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 3', [2, 3, 4], [6, 9]],
  ['SELECT DISTINCT VALUE c.group FROM c', [0, 1, 2, 3], [0, 1, 2, 3]],
  [
    'SELECT DISTINCT c.group FROM c ORDER BY c.group DESC',
    [3, 2, 1, 0].map((group) => ({ group })),
    [3, 2, 1, 0].map((group) => ({ group })),
  ],
  ['SELECT VALUE COUNT(1) FROM c', [12], [4]],
  ['SELECT VALUE SUM(c.n) FROM c', [66], [18]],
  ['SELECT VALUE AVG(c.n) FROM c', [5.5], [4.5]],
  ['SELECT VALUE MIN(c.id) FROM c', ['i00'], ['i00']],
  ['SELECT MAX(c.n) AS high, COUNT(1) AS n FROM c', [{ high: 11, n: 12 }], [{ high: 9, n: 4 }]],
  [
    'SELECT c.group, COUNT(1) AS n FROM c GROUP BY c.group',
    [0, 1, 2, 3].map((group) => ({ group, n: 3 })),
    [0, 1, 2, 3].map((group) => ({ group, n: 1 })),
  ],
  ['SELECT VALUE COUNT(1) FROM c GROUP BY c.group', [3, 3, 3, 3], [1, 1, 1, 1]],
  [
    'SELECT VALUE t FROM c JOIN t IN c.tags WHERE t != "even"',
    ['t0', 't2', 't1', 't0', 't2', 't1'],
    ['t0', 't0'],
  ],
  ['SELECT VALUE c.id FROM c WHERE EXISTS (SELECT VALUE t FROM t IN c.tags WHERE t = "t2")', ids([2, 8]), []],
  ['SELECT VALUE c.none FROM c', [], []],
  ['SELECT VALUE false FROM c WHERE c.n = 0', [false], [false]],
];

describe.each(SHAPES)('%s', (query, all, inPartition) => {
  it.each<[name: string, options: FeedOptions, expected: unknown[]]>([
    ['across partitions', {}, all],
    ['across partitions, page by page', { maxItemCount: 2 }, all],
    ['across partitions with the query plan', { forceQueryPlan: true, maxItemCount: 2 }, all],
    ['across partitions under query control', { enableQueryControl: true, maxItemCount: 2 }, all],
    ['in one partition', { partitionKey: 'p0' }, inPartition],
    ['in one partition, page by page', { partitionKey: 'p0', maxItemCount: 1 }, inPartition],
  ])('%s', async (_, options, expected) => {
    expect(await inPages(query, options)).toEqual(expected);
  });
});

it.each(SHAPES)('%s, all at once', async (query, all) => {
  expect((await container.items.query(query, { maxItemCount: 2 }).fetchAll()).resources).toEqual(all);
});

it('parameters of any type work', async () => {
  const query = {
    query: 'SELECT VALUE c.id FROM c WHERE c.n IN (@one, @two) OR c.tags = @tags OR c.id = @id',
    parameters: [
      { name: '@one', value: 1 },
      { name: '@two', value: null },
      { name: '@tags', value: ['even', 't1'] },
      { name: '@id', value: 'i05' },
    ],
  };
  expect((await container.items.query<string>(query).fetchAll()).resources).toEqual(ids([1, 4, 5, 10]));
});

it('a continuation token gets the next page in a second iterator', async () => {
  const query = 'SELECT VALUE c.n FROM c ORDER BY c.n';
  const first = await container.items.query<number>(query, { maxItemCount: 5 }).fetchNext();
  expect(first.resources).toEqual([0, 1, 2, 3, 4]);

  const options = { maxItemCount: 100, continuationToken: first.continuationToken };
  const { resources } = await container.items.query<number>(query, options).fetchNext();

  expect(resources).toEqual([5, 6, 7, 8, 9, 10, 11]);
});

it('continuation tokens and indexes survive a restart', async () => {
  const data = await mkdtemp(join(tmpdir(), 'queries-'));
  const query = 'SELECT VALUE c.n FROM c WHERE c.n > 0 ORDER BY c.n DESC';
  const before = await startCosmos({ data });
  const { database, items } = await newContainer(before);
  for (const n of [0, 1, 2, 3]) await items.create({ id: `i${n}`, pk: 'p', n });
  const first = await items.query<number>(query, { maxItemCount: 2 }).fetchNext();
  await before.stop();

  const after = await cosmosForFile({ data });
  const again = clientOf(after).database(database.id).container('items');
  const { resources } = await again.items
    .query<number>(query, { continuationToken: first.continuationToken })
    .fetchNext();

  expect([first.resources, resources]).toEqual([[3, 2], [1]]);
  await after.stop();
  await removeFolder(data);
});

it('an answer names the range it is from; a continuation token of no query is 400', async () => {
  const page = await container.items.query('SELECT * FROM c').fetchNext();
  expect(page).toMatchObject({ headers: { 'x-ms-documentdb-partitionkeyrangeid': '0' } });
  for (const pages of [
    container.items.query('SELECT * FROM c', { continuationToken: 'junk' }),
    container.items.readAll({ continuationToken: 'junk' }),
  ]) {
    const refusal = await refusalOf(pages.fetchNext());
    expect(refusal.code).toBe(400);
    expect(refusal.message).toContain('Invalid Continuation Token');
  }
});

it('an invalid query is 400 with the place of the error, an unsupported feature is 501 with its name', async () => {
  const wrong = await refusalOf(container.items.query('SELECT * FORM c').fetchAll());
  expect(wrong.code).toBe(400);
  expect(wrong.message).toContain('"location":{"start":9,"end":13}');
  expect(wrong.message).toContain('SC1001');

  const missing = await refusalOf(container.items.query('SELECT udf.x(c.n) FROM c').fetchAll());
  expect(missing.code).toBe(501);
  expect(missing.message).toContain('user-defined functions');
});
