import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedStartFrom, type Container, CosmosClient } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../../../../test/support/removeFolder.ts';
import { effectivePartitionKey } from '../../../src/cosmos/effectivePartitionKey.ts';
import { startCosmos } from '../../../src/cosmos/index.ts';
import { local, newContainer, sendSigned } from '../openContainer.ts';
import { partitions, twoContainers } from './twoContainers.ts';

const items = Array.from({ length: 40 }, (_, n) => ({ id: `i${n}`, pk: `p${n % 11}`, n }));

async function container() {
  const opened = await twoContainers(items);
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return opened;
}

test('keys hash as in the SDK, which routes bulk operations by it', async () => {
  // Not exported. If it moves, this test has to find it again.
  const path = new URL(
    '../../../../../node_modules/@azure/cosmos/dist/esm/utils/hashing/hash.js',
    import.meta.url,
  );
  const { hashPartitionKey } = (await import(path.href)) as {
    hashPartitionKey: (values: unknown[], definition: object) => string;
  };
  const values = [
    'a',
    '',
    '0a',
    'é€😀',
    'x'.repeat(100),
    'sixteen-bytes-14',
    12.5,
    -3,
    0,
    true,
    false,
    null,
    {},
  ];
  for (const value of values) {
    expect(effectivePartitionKey([value])).toBe(hashPartitionKey([value], { kind: 'Hash', version: 2 }));
  }
  const pair = ['tenant', 7];
  expect(effectivePartitionKey(pair)).toBe(hashPartitionKey(pair, { kind: 'MultiHash', version: 2 }));
});

test('the ranges cover all keys without a gap, and each holds some of the items', async () => {
  const { several, server } = await container();
  const { resources } = await several.readPartitionKeyRanges().fetchAll();
  expect(resources.map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
  expect(resources.map(({ minInclusive }) => minInclusive)).toEqual([
    '',
    ...resources.slice(0, -1).map(({ maxExclusive }) => maxExclusive),
  ]);
  expect(resources.at(-1)?.maxExclusive).toBe('FF');
  const found = await Promise.all(resources.map(({ id }) => queryRange(server, several, id)));
  expect(found.map(({ ids }) => ids.length > 0)).toEqual([true, true, true, true]);
  expect(found.flatMap(({ ids }) => ids).sort()).toEqual(items.map(({ id }) => id).sort());
  // All items of a partition key are in one range.
  for (const { pks } of found) {
    const others = found.filter((each) => each.pks !== pks).flatMap((each) => [...each.pks]);
    expect(others.filter((pk) => pks.has(pk))).toEqual([]);
  }
});

test('a range that does not exist, or does not hold the partition key, is gone', async () => {
  const { several, server } = await container();
  const refused = { code: 410, substatus: '1002' };
  expect(await queryRange(server, several, '4')).toMatchObject(refused);
  const byRange = await Promise.all(
    ['0', '1', '2', '3'].map((id) => queryRange(server, several, id, '["p3"]')),
  );
  expect(byRange.map(({ code }) => `${code}`).sort()).toEqual(['200', '410', '410', '410']);
  expect(byRange.find(({ code }) => code === 200)?.pks).toEqual(new Set(['p3']));
});

test('a plain query over all ranges: a page never spans two, and may be empty though more follow', async () => {
  const { several } = await container();
  const query = 'SELECT * FROM c WHERE c.n IN (3, 14, 25, 36)';
  const pages = several.items.query<{ id: string }>(query, { maxItemCount: 2 });
  const sizes: number[] = [];
  const ids: string[] = [];
  while (pages.hasMoreResults()) {
    const { resources, continuationToken } = await pages.fetchNext();
    sizes.push(resources.length);
    ids.push(...resources.map(({ id }) => id));
    if (continuationToken !== undefined) expect(JSON.parse(continuationToken)).toHaveProperty('range.min');
  }
  expect(ids.sort()).toEqual(['i14', 'i25', 'i3', 'i36']);
  // Two full pages of a range, and one empty page of each.
  expect(sizes.filter((size) => size === 0)).toHaveLength(partitions);
  expect(sizes).toHaveLength(partitions + 2);
});

test('a walk over the ranges goes on from its continuation, also with another client', async () => {
  const { several, server } = await container();
  const seen: string[] = [];
  let continuationToken: string | undefined;
  do {
    const client = new CosmosClient(server.connectionString);
    const same = client.database('d').container('c');
    const options = { maxItemCount: 3, ...(continuationToken === undefined ? {} : { continuationToken }) };
    const page = await same.items.query<{ id: string }>('SELECT c.id FROM c', options).fetchNext();
    seen.push(...page.resources.map(({ id }) => id));
    continuationToken = page.continuationToken;
    client.dispose();
  } while (continuationToken !== undefined);
  expect(seen.sort()).toEqual(items.map(({ id }) => id).sort());
  const wrong = JSON.stringify({ token: null, range: { min: '', max: 'FF' } });
  const options = { continuationToken: wrong };
  await expect(several.items.query('SELECT c.id FROM c', options).fetchNext()).rejects.toMatchObject({
    code: 400,
  });
});

test('the gateway refuses what needs merging, and the SDK asks for a plan and for each range', async () => {
  const { several, server } = await container();
  await several.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
  await local(server, 'DELETE', 'stats');
  const { resources } = await several.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
  expect(resources).toEqual([items.length]);
  expect((await local(server, 'GET', 'stats')).body).toMatchObject({
    byContainer: { c: { operations: { query: 1 + partitions } } },
    metadata: { operations: { queryPlan: 1 } },
  });
  await local(server, 'DELETE', 'stats');
  await several.items.query('SELECT VALUE COUNT(1) FROM c', { partitionKey: 'p1' }).fetchAll();
  expect((await local(server, 'GET', 'stats')).body).toMatchObject({
    byContainer: { c: { operations: { query: 1 } } },
  });
});

test('all items are read, page by page', async () => {
  const { several } = await container();
  const { resources } = await several.items.readAll<{ id: string }>({ maxItemCount: 7 }).fetchAll();
  expect(resources.map(({ id }) => id).sort()).toEqual(items.map(({ id }) => id).sort());
});

test('bulk operations go to the ranges of their keys', async () => {
  const { several } = await container();
  const operations = Array.from({ length: 60 }, (_, n) => ({
    operationType: 'Create' as const,
    partitionKey: `b${n}`,
    resourceBody: { id: `b${n}`, pk: `b${n}` },
  }));
  const results = await several.items.executeBulkOperations(operations);
  expect(results.map(({ response }) => response?.statusCode)).toEqual(operations.map(() => 201));
  const { resources } = await several.items
    .query<number>('SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.id, "b")')
    .fetchAll();
  expect(resources).toEqual([60]);
});

test('the change feed of all ranges gives each change once, and goes on from its continuation', async () => {
  const { several } = await container();
  const changes = await readChanges(several);
  expect(changes.ids.sort()).toEqual(items.map(({ id }) => id).sort());
  await several.items.create({ id: 'later', pk: 'p5', n: 99 });
  const next = await readChanges(several, changes.continuation);
  expect(next.ids).toEqual(['later']);
});

test('the change feed of each feed range, as several readers share the work', async () => {
  const { several } = await container();
  const feedRanges = await several.getFeedRanges();
  expect(feedRanges).toHaveLength(partitions);
  const found = await Promise.all(
    feedRanges.map(async (range) => {
      const start = ChangeFeedStartFrom.Beginning(range);
      const feed = several.items.getChangeFeedIterator<{ id: string }>({ changeFeedStartFrom: start });
      return (await feed.readNext()).result?.map(({ id }) => id) ?? [];
    }),
  );
  expect(found.every((ids) => ids.length > 0 && ids.length < items.length)).toBe(true);
  expect(found.flat().sort()).toEqual(items.map(({ id }) => id).sort());
});

test('a container of partition key version 1 has one range', async () => {
  const { server } = await container();
  const old = await newContainer(server, { partitionKey: { paths: ['/pk'], version: 1 } });
  expect((await old.readPartitionKeyRanges().fetchAll()).resources).toHaveLength(1);
});

test('a hierarchical key', async () => {
  const { server } = await container();
  const nested = await newContainer(server, {
    partitionKey: { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } as never,
  });
  for (let n = 0; n < 20; n++) await nested.items.create({ id: `${n}`, tenant: `t${n % 5}`, user: n });
  const { resources } = await nested.items.query<string>('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll();
  expect(resources).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`).sort());
  expect((await nested.item('7', ['t2', 7]).read()).resource).toMatchObject({ id: '7' });
});

test('data from one number of ranges is placed anew in another', async () => {
  const data = mkdtempSync(join(tmpdir(), 'cosmos-ranges-'));
  onTestFinished(() => removeFolder(data));
  for (const [round, count] of [1, 5, 2, 2].entries()) {
    await using server = await startCosmos({ data, partitions: count });
    const client = new CosmosClient(server.connectionString);
    const { database } = await client.databases.createIfNotExists({ id: 'd' });
    const made = await database.containers.createIfNotExists({
      id: 'c',
      partitionKey: { paths: ['/pk'], version: 2 },
    });
    await made.container.items.create({ id: `r${round}`, pk: `k${round}` });
    const { resources } = await made.container.items
      .query<string>('SELECT VALUE c.id FROM c ORDER BY c.id')
      .fetchAll();
    expect(resources).toEqual(Array.from({ length: round + 1 }, (_, n) => `r${n}`));
    const ranges = await made.container.readPartitionKeyRanges().fetchAll();
    expect(ranges.resources).toHaveLength(count);
    client.dispose();
  }
});

async function readChanges(from: Container, continuation?: string) {
  const changeFeedStartFrom =
    continuation === undefined
      ? ChangeFeedStartFrom.Beginning()
      : ChangeFeedStartFrom.Continuation(continuation);
  const feed = from.items.getChangeFeedIterator<{ id: string }>({ changeFeedStartFrom, maxItemCount: 4 });
  const ids: string[] = [];
  for (;;) {
    const page = await feed.readNext();
    if (page.statusCode === 304) return { ids, continuation: page.continuationToken };
    ids.push(...(page.result ?? []).map(({ id }) => id));
  }
}

/** Sends `SELECT *` to one range and returns its answer. */
async function queryRange(
  server: { endpoint: string; key: string },
  { id, database }: Container,
  range: string,
  partitionKey?: string,
) {
  const link = `dbs/${database.id}/colls/${id}`;
  const answer = await sendSigned(server, 'POST', {
    type: 'docs',
    link,
    path: `${link}/docs`,
    headers: {
      'content-type': 'application/query+json',
      'x-ms-documentdb-isquery': 'true',
      'x-ms-documentdb-query-enablecrosspartition': 'true',
      'x-ms-documentdb-partitionkeyrangeid': range,
      ...(partitionKey === undefined ? {} : { 'x-ms-documentdb-partitionkey': partitionKey }),
    },
    body: JSON.stringify({ query: 'SELECT * FROM c' }),
  });
  const { Documents: found = [] } = (await answer.json()) as { Documents?: { id: string; pk: string }[] };
  return {
    code: answer.status,
    substatus: answer.headers.get('x-ms-substatus'),
    ids: found.map((each) => each.id),
    pks: new Set(found.map(({ pk }) => pk)),
  };
}
