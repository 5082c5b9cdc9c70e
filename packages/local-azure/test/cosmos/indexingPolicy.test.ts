import type { IndexingPolicy } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import { containers, indexingPolicy } from '../../../../src/platform/cosmosContainers.ts';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();
const excluded = 'The index path corresponding to the specified order-by item is excluded.';
const noComposite =
  'The order by query does not have a corresponding composite index that it can be served from.';

async function sortedBy(policy: IndexingPolicy, order: string): Promise<unknown> {
  const container = await newContainer(cosmos, { indexingPolicy: policy });
  await container.items.create({ id: '1', pk: 'a', at: 1, name: 'x', payment: { id: 'p', at: 1 } });
  const query = container.items.query(`SELECT VALUE c.id FROM c ORDER BY ${order}`, { partitionKey: 'a' });
  return (await query.fetchAll()).resources;
}

const onlyAt: IndexingPolicy = {
  includedPaths: [{ path: '/at/?' }, { path: '/payment/id/?' }],
  excludedPaths: [{ path: '/*' }],
};

describe('ORDER BY needs an index, as on the service', () => {
  test.each([
    ['everything is indexed by default', {}, 'c.name'],
    ['a path that is included', onlyAt, 'c.at DESC'],
    ['a nested path that is included', onlyAt, 'c.payment.id'],
    ['id, always', onlyAt, 'c.id'],
    ['_ts, always', onlyAt, 'c._ts'],
    [
      'the more precise path wins',
      { includedPaths: [{ path: '/*' }, { path: '/payment/id/?' }], excludedPaths: [{ path: '/payment/*' }] },
      'c.payment.id',
    ],
  ] satisfies [string, IndexingPolicy, string][])('%s', async (_why, policy, order) => {
    expect(await sortedBy(policy, order)).toEqual(['1']);
  });

  test.each([
    ['a path that is not included', onlyAt, 'c.name'],
    ['beside an included one', onlyAt, 'c.payment.at'],
    [
      'a path that is excluded',
      { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/payment/*' }] },
      'c.payment.id',
    ],
  ] satisfies [string, IndexingPolicy, string][])('%s is refused', async (_why, policy, order) => {
    const { code, message } = await refusalOf(sortedBy(policy, order));
    expect(code).toBe(400);
    expect(message).toContain(excluded);
  });

  const composite = (...orders: ('ascending' | 'descending')[]): IndexingPolicy => ({
    compositeIndexes: [
      [
        { path: '/at', order: orders[0] ?? 'ascending' },
        { path: '/name', order: orders[1] ?? 'ascending' },
      ],
    ],
  });

  test.each([
    ['in the same order', composite('ascending', 'descending'), 'c.at, c.name DESC'],
    ['all reversed', composite('ascending', 'descending'), 'c.at DESC, c.name'],
  ])('several properties are served by a composite index %s', async (_how, policy, order) => {
    expect(await sortedBy(policy, order)).toEqual(['1']);
  });

  test.each([
    ['without a composite index', {}, 'c.at, c.name'],
    ['with one direction reversed', composite('ascending', 'ascending'), 'c.at, c.name DESC'],
    ['in another order', composite(), 'c.name, c.at'],
    ['with one more', composite(), 'c.at, c.name, c.id'],
  ] satisfies [string, IndexingPolicy, string][])('several are refused %s', async (_how, policy, order) => {
    const { code, message } = await refusalOf(sortedBy(policy, order));
    expect(code).toBe(400);
    expect(message).toContain(noComposite);
  });
});

describe('the root may be written as /', () => {
  test.each([
    ['included', { includedPaths: [{ path: '/' }] }],
    [
      'excluded, beside an included path',
      { includedPaths: [{ path: '/at/?' }], excludedPaths: [{ path: '/' }] },
    ],
    ['excluded alone, beside id', { excludedPaths: [{ path: '/' }] }, 'c.id'],
  ] satisfies [string, IndexingPolicy, string?][])('%s', async (_how, policy, order = 'c.at') => {
    expect(await sortedBy(policy, order)).toEqual(['1']);
  });

  test('a filter is answered, too', async () => {
    const container = await newContainer(cosmos, { indexingPolicy: { includedPaths: [{ path: '/' }] } });
    await container.items.create({ id: '1', pk: 'a', name: 'x' });
    const query = container.items.query("SELECT VALUE c.id FROM c WHERE c.name = 'x'");
    expect((await query.fetchAll()).resources).toEqual(['1']);
  });
});

describe('a policy that the service refuses is a 400 at creation', () => {
  const root = { path: '/*' };
  const refused = async (policy: object) => refusalOf(newContainer(cosmos, { indexingPolicy: policy }));

  test.each([
    ['no root path', { includedPaths: [{ path: '/at/?' }] }, 'special mandatory indexing path'],
    ['a path without a slash', { includedPaths: [root, { path: 'at/?' }] }, "failed near position '0'"],
    [
      'a path without an end',
      { includedPaths: [root, { path: '/expiration' }] },
      "failed near position '11'",
    ],
    ['a wildcard in the middle', { includedPaths: [root, { path: '/a/*/b/?' }] }, 'could not be accepted'],
    ['an empty name in quotes', { excludedPaths: [{ path: '/a/""/?' }] }, 'could not be accepted'],
    ['a name that is quoted in part', { excludedPaths: [{ path: '/"a"b/?' }] }, 'could not be accepted'],
    ['an empty name', { excludedPaths: [{ path: '/a//b/?' }] }, 'could not be accepted'],
    ['a bad path of a composite index', { compositeIndexes: [[{ path: 'at' }, { path: '/n' }]] }, "'at'"],
    ['an unknown mode', { indexingMode: 'sometimes' }, 'indexingMode'],
    [
      'a path in both lists',
      { includedPaths: [root, { path: '/at/?' }], excludedPaths: [{ path: '/at/?' }] },
      'both included and excluded',
    ],
    [
      'the root in both lists, once as /',
      { includedPaths: [root], excludedPaths: [{ path: '/' }] },
      'both included and excluded',
    ],
  ])('%s', async (_what, policy, message) => {
    expect(await refused(policy)).toMatchObject({ code: 400, message: expect.stringContaining(message) });
  });

  test('and at a replacement', async () => {
    const container = await newContainer(cosmos, {});
    const { resource } = await container.read();
    const replacement = container.replace({
      id: 'items',
      partitionKey: { paths: ['/pk'] },
      ...resource,
      indexingPolicy: { includedPaths: [{ path: '/at/?' }] },
    });
    expect(await refusalOf(replacement)).toMatchObject({ code: 400 });
  });

  test.each([
    ['quoted names', { includedPaths: [root, { path: '/"a/b?"/c/?' }, { path: '/tags/[]/?' }] }],
    ['no index at all', { indexingMode: 'none', automatic: false, includedPaths: [], excludedPaths: [] }],
  ] satisfies [string, IndexingPolicy][])('not one with %s', async (_what, policy) => {
    const container = await newContainer(cosmos, { indexingPolicy: policy });
    expect((await container.read()).statusCode).toBe(200);
  });
});

test('a policy that is replaced counts at once', async () => {
  const container = await newContainer(cosmos, { indexingPolicy: onlyAt });
  const sorted = () =>
    container.items.query('SELECT * FROM c ORDER BY c.at', { partitionKey: 'a' }).fetchAll();
  expect((await sorted()).resources).toEqual([]);
  const { resource } = await container.read();
  await container.replace({
    id: 'items',
    partitionKey: { paths: ['/pk'] },
    ...resource,
    indexingPolicy: { excludedPaths: [{ path: '/*' }], includedPaths: [] },
  });
  expect(await refusalOf(sorted())).toMatchObject({ code: 400 });
});

test('a filter needs none: without one it scans', async () => {
  const container = await newContainer(cosmos, { indexingPolicy: onlyAt });
  await container.items.create({ id: '1', pk: 'a', name: 'x' });
  const query = "SELECT VALUE c.id FROM c WHERE c.name >= 'a'";
  expect((await container.items.query(query).fetchAll()).resources).toEqual(['1']);
});

test('the app’s own containers have what the app sorts by: an index taken away is noticed', async () => {
  const { indexed, partitionKey } = containers.invoices;
  const policy = (paths: readonly string[]) => indexingPolicy({ ...containers.invoices, indexed: paths });
  const query = async (paths: readonly string[]) => {
    const container = await newContainer(cosmos, {
      partitionKey: { paths: [partitionKey] },
      indexingPolicy: policy(paths),
    });
    return container.items
      .query('SELECT * FROM c ORDER BY c.actionableAt', { partitionKey: '0a' })
      .fetchAll();
  };
  expect((await query(indexed)).resources).toEqual([]);
  const refused = await refusalOf(query(indexed.filter((path) => path !== '/actionableAt/?')));
  expect(refused).toMatchObject({ code: 400, message: expect.stringContaining(excluded) });
});
