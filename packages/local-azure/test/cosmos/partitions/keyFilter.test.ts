// A filter on the partition key, without the option `partitionKey`: only the ranges that hold those keys are asked.
import type { SqlParameter } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keysOfFilter } from '../../../src/cosmos/query/index.ts';
import { local } from '../openContainer.ts';
import { partitions, type TwoContainers, twoContainers } from './twoContainers.ts';

const items = Array.from({ length: 60 }, (_, n) => ({ id: `i${n}`, pk: `p${n % 12}`, n }));
let containers: TwoContainers;
beforeAll(async () => {
  containers = await twoContainers(items);
});
afterAll(() => containers[Symbol.asyncDispose]());

async function run(query: string, parameters: SqlParameter[] = []) {
  const { server, several } = containers;
  await local(server, 'DELETE', 'stats');
  const { resources } = await several.items.query<{ id: string }>({ query, parameters }).fetchAll();
  const { body } = await local(server, 'GET', 'stats');
  return { body: body as { requests: number; requestUnits: { c: number } }, found: resources.length };
}

describe('how many ranges are asked', () => {
  test.each<[string, SqlParameter[], number]>([
    [`SELECT * FROM c WHERE c.pk = 'p3'`, [], 1],
    [`SELECT * FROM c WHERE c.n > 5 AND @key = c["pk"]`, [{ name: '@key', value: 'p3' }], 1],
    [`SELECT * FROM i WHERE i.pk IN ('p3', 'p3')`, [], 1],
    [`SELECT * FROM c WHERE c.pk = 'p3' OR c.n = 1`, [], partitions],
    [`SELECT * FROM c WHERE c.pk > 'p3'`, [], partitions],
    ['SELECT * FROM c', [], partitions],
  ])('%s', async (query, parameters, ranges) => {
    expect((await run(query, parameters)).body.requests).toBe(ranges);
  });

  test('a query that the client merges asks no more of them, once the gateway has refused it', async () => {
    const refused = 1;
    const { body, found } = await run(`SELECT * FROM c WHERE c.pk = 'p3' ORDER BY c.id`);
    expect([body.requests, found]).toEqual([refused + 1, 5]);
    const { body: all } = await run('SELECT * FROM c ORDER BY c.id');
    expect(all.requests).toBeGreaterThanOrEqual(refused + partitions);
  });

  test('and it costs as much as if the option named the key', async () => {
    const query = `SELECT * FROM c WHERE c.pk = 'p3'`;
    const { body } = await run(query);
    const { server, several } = containers;
    await local(server, 'DELETE', 'stats');
    await several.items.query(query, { partitionKey: 'p3' }).fetchAll();
    const { body: named } = await local(server, 'GET', 'stats');
    expect(body.requestUnits.c).toBeGreaterThan(0);
    expect((named as typeof body).requestUnits.c).toBeLessThanOrEqual(body.requestUnits.c);
    const { body: all } = await run('SELECT * FROM c WHERE c.n < 5');
    expect(body.requestUnits.c).toBeLessThan(all.requestUnits.c);
  });
});

test.each([
  `SELECT * FROM c WHERE c.pk IN ('p0', 'p3', 'p7', 'p11', 'nobody')`,
  `SELECT * FROM c WHERE c.pk = 'p1' OR c.pk = 'p2' OR c.pk IN ('p4', 'p5', 'p6')`,
  `SELECT VALUE COUNT(1) FROM c WHERE c.pk IN ('p0', 'p8')`,
  `SELECT * FROM c WHERE c.pk IN ('p0', 'p3', 'p7') ORDER BY c.n DESC`,
  `SELECT * FROM c WHERE c.pk = 'p0' AND c.pk = 'p1'`,
])('the results are those of a container of one range, on small pages too: %s', async (query) => {
  const found = await Promise.all(
    [containers.one, containers.several].map(async (container) => {
      const { resources } = await container.items.query<unknown>(query, { maxItemCount: 3 }).fetchAll();
      return resources.map((one) => (typeof one === 'number' ? `${one}` : (one as { id: string }).id)).sort();
    }),
  );
  expect(found[1]).toEqual(found[0]);
});

describe('keysOfFilter', () => {
  const given = new Map<string, unknown>([
    ['@a', 'a'],
    ['@list', ['a', 'b']],
  ]);

  test.each<[string, unknown]>([
    ['c.of.key = 1', [1]],
    ['null = c.of["key"]', [null]],
    ['c.of.key = @a AND c.x = 2', ['a']],
    ['c.of.key IN (1, true, @a) AND c.of.key IN (@a, 2)', ['a']],
    ['c.of.key = 1 OR (c.of.key = 2 AND c.x = 1)', [1, 2]],
    ['c.of.key = 1 OR c.x = 1', undefined],
    ['c.of.key = 1 AND c.of.key = 2', undefined],
    ['NOT (c.of.key = 1)', undefined],
    ['c.of.key NOT IN (1)', undefined],
    ['c.of.key != 1', undefined],
    ['c.key = 1', undefined],
    ['c.of.key = @missing', undefined],
    ['c.of.key = @list', undefined],
    ['c.of.key = undefined', undefined],
    ['c.of.key = c.x', undefined],
    ['ARRAY_CONTAINS(@list, c.of.key)', undefined],
  ])('%s', (filter, keys) => {
    expect(keysOfFilter(`SELECT * FROM c WHERE ${filter}`, given, ['of', 'key'])).toEqual(keys);
  });

  test('only of the item itself, by whatever name', () => {
    const keys = (from: string, filter: string) =>
      keysOfFilter(`SELECT * FROM ${from} WHERE ${filter}`, given, ['key']);
    expect(keys('root AS r', 'r.key = 1')).toEqual([1]);
    expect(keys('c JOIN t IN c.tags', 'c.key = 1')).toEqual([1]);
    expect(keys('c JOIN t IN c.tags', 't.key = 1')).toBeUndefined();
    expect(keys('t IN c.tags', 't.key = 1')).toBeUndefined();
    expect(keys('c.of', 'of.key = 1')).toBeUndefined();
  });
});
