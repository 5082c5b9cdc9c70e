import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { clientOf, cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

test('the account has one region, at the address that the client used', async () => {
  const { resource } = await clientOf(cosmos).getDatabaseAccount();
  expect(resource?.writableLocations).toEqual([{ name: 'Local', databaseAccountEndpoint: cosmos.endpoint }]);
  expect(resource?.readableLocations).toEqual(resource?.writableLocations);
  expect(resource?.consistencyPolicy).toBe('Session');
});

test('databases: create, read, list, delete', async () => {
  const client = clientOf(cosmos);
  const id = `db ${randomUUID()} ä`;
  const { resource, statusCode } = await client.databases.create({ id });
  expect(statusCode).toBe(201);
  expect(Buffer.from(resource?._rid ?? '', 'base64')).toHaveLength(4);
  expect(await refusalOf(client.databases.create({ id }))).toMatchObject({ code: 409 });
  expect((await client.databases.createIfNotExists({ id })).statusCode).toBe(200);
  expect((await client.database(id).read()).resource).toEqual(resource);
  const { resources } = await client.databases.readAll().fetchAll();
  expect(resources.map((each) => each.id)).toContain(id);
  expect((await client.database(id).delete()).statusCode).toBe(204);
  expect(await refusalOf(client.database(id).read())).toMatchObject({ code: 404, substatus: 0 });
  expect(await refusalOf(client.database(id).delete())).toMatchObject({ code: 404 });
});

test('containers: create, read, list, delete', async () => {
  const { database, id } = await newContainer(cosmos);
  const { resources } = await database.containers.readAll().fetchAll();
  expect(resources).toMatchObject([{ id, partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }]);
  expect(await refusalOf(database.containers.create({ id, partitionKey: '/pk' }))).toMatchObject({
    code: 409,
  });
  await database.container(id).items.create({ id: 'a', pk: 'p' });
  const count = () => database.container(id).items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
  expect((await count()).resources).toEqual([1]);
  expect((await database.container(id).delete()).statusCode).toBe(204);
  expect(await refusalOf(database.container(id).read())).toMatchObject({ code: 404, substatus: 0 });
  await database.containers.create({ id, partitionKey: '/pk' });
  expect((await count()).resources).toEqual([0]);
});

test('a definition reads back as given, plus the service’s defaults', async () => {
  const given = {
    partitionKey: { paths: ['/a/b'], version: 1 },
    defaultTtl: 3600,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/x', '/y/z'] }] },
    indexingPolicy: {
      indexingMode: 'consistent' as const,
      automatic: true,
      includedPaths: [{ path: '/status/?' }],
      excludedPaths: [{ path: '/*' }],
      compositeIndexes: [
        [
          { path: '/a', order: 'ascending' as const },
          { path: '/b', order: 'descending' as const },
        ],
      ],
    },
  };
  const { resource } = await (await newContainer(cosmos, given)).read();
  expect(resource).toMatchObject({
    ...given,
    partitionKey: { ...given.partitionKey, kind: 'Hash' },
    indexingPolicy: { ...given.indexingPolicy, excludedPaths: [{ path: '/*' }, { path: '/"_etag"/?' }] },
    conflictResolutionPolicy: { mode: 'LastWriterWins' },
  });
  expect(Buffer.from(resource?._rid ?? '', 'base64')).toHaveLength(8);
  const plain = await (await newContainer(cosmos)).read();
  expect(plain.resource?.indexingPolicy).toEqual({
    indexingMode: 'consistent',
    automatic: true,
    includedPaths: [{ path: '/*' }],
    excludedPaths: [{ path: '/"_etag"/?' }],
  });
  expect(plain.resource).not.toHaveProperty('defaultTtl');
});

test('a replacement changes policies and the ETag, but nothing fixed at creation', async () => {
  const container = await newContainer(cosmos, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
  const { resource: before } = await container.read();
  if (before === undefined) throw new Error('the container has no definition');
  const { resource: after } = await container.replace({ ...before, defaultTtl: 60 });
  expect(after).toMatchObject({ defaultTtl: 60, _rid: before._rid });
  expect(after?._etag).not.toBe(before._etag);
  const otherKey = { ...before, partitionKey: { paths: ['/other'] } };
  expect(await refusalOf(container.replace(otherKey))).toMatchObject({ code: 400 });
  expect(
    await refusalOf(container.replace({ ...before, uniqueKeyPolicy: { uniqueKeys: [] } })),
  ).toMatchObject({
    code: 400,
  });
});

test('a unique key holds within a partition; a missing value counts as null, and types differ', async () => {
  const container = await newContainer(cosmos, {
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a', '/b/c'] }] },
  });
  await container.items.create({ id: '1', pk: 'p', a: 1, b: { c: 'x' } });
  const clash = await refusalOf(container.items.create({ id: '2', pk: 'p', a: 1, b: { c: 'x' } }));
  expect(clash).toMatchObject({ code: 409 });
  expect(clash.message).toContain('Unique index constraint violation.');
  await container.items.create({ id: '2', pk: 'q', a: 1, b: { c: 'x' } });
  await container.items.create({ id: '3', pk: 'p', a: '1', b: { c: 'x' } });
  await container.items.create({ id: '4', pk: 'p', a: 1 });
  expect(await refusalOf(container.items.create({ id: '5', pk: 'p', a: 1, b: { c: null } }))).toMatchObject({
    code: 409,
  });
  const patch = container.item('3', 'p').patch([{ op: 'set', path: '/a', value: 1 }]);
  expect(await refusalOf(patch)).toMatchObject({ code: 409 });
  const upsert = container.items.upsert({ id: '3', pk: 'p', a: 1, b: { c: 'x' } });
  expect(await refusalOf(upsert)).toMatchObject({ code: 409 });
  const { result } = await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: '6', pk: 'p', a: 6 } },
      { operationType: 'Create', resourceBody: { id: '7', pk: 'p', a: 6 } },
    ],
    'p',
  );
  expect(result?.map(({ statusCode }) => statusCode)).toEqual([424, 409]);
});

test('throughput has at least 400 RU/s in steps of 100, autoscale 1,000 in steps of 1,000', async () => {
  const client = clientOf(cosmos);
  const create = (request: { throughput?: number; maxThroughput?: number }) =>
    client.databases.create({ id: `db-${randomUUID()}`, ...request });
  for (const request of [{ throughput: 400 }, { throughput: 25_100 }, { maxThroughput: 1000 }])
    expect((await create(request)).statusCode).toBe(201);
  for (const request of [{ throughput: 100 }, { throughput: 450 }, { maxThroughput: 1500 }]) {
    const refused = await refusalOf(create(request));
    expect(refused).toMatchObject({ code: 400, message: expect.stringContaining('valid throughput values') });
  }
  const { database } = await newContainer(cosmos);
  expect(await refusalOf(database.containers.create({ id: 'c', throughput: 450 }))).toMatchObject({
    code: 400,
  });
});

test('a query text has at most 512 KB', async () => {
  const container = await newContainer(cosmos);
  const ask = (bytes: number) =>
    container.items.query(`SELECT VALUE 1 -- ${'x'.repeat(bytes - 18)}`, { partitionKey: 'p' }).fetchAll();
  expect((await ask(512 * 1024)).resources).toEqual([1]);
  expect(await refusalOf(ask(512 * 1024 + 1))).toMatchObject({
    code: 400,
    message: expect.stringContaining('maximum limit of 524288 bytes'),
  });
});

test('one partition key range covers all keys', async () => {
  const { resources } = await (await newContainer(cosmos)).readPartitionKeyRanges().fetchAll();
  expect(resources).toMatchObject([{ id: '0', minInclusive: '', maxExclusive: 'FF' }]);
});

test.each([
  ['two paths with kind Hash', { partitionKey: { paths: ['/a', '/b'] } }],
  ['a path without a slash', { partitionKey: { paths: ['a'] } }],
  ['an unknown version', { partitionKey: { paths: ['/a'], version: 3 } }],
  ['an id that is too long', { id: 'x'.repeat(256) }],
])('an invalid definition is 400: %s', async (_what, definition) => {
  expect(await refusalOf(newContainer(cosmos, definition))).toMatchObject({ code: 400 });
});

test.each([
  ['vectorEmbeddingPolicy', { vectorEmbeddingPolicy: { vectorEmbeddings: [] } }],
  ['computedProperties', { computedProperties: [{ name: 'x', query: 'SELECT VALUE 1 FROM c' }] }],
  ['custom conflict resolution', { conflictResolutionPolicy: { mode: 'Custom' } }],
])('refused by name: %s', async (feature, definition) => {
  const refusal = await refusalOf(newContainer(cosmos, definition as never));
  expect(refusal).toMatchObject({ code: 501 });
  expect(refusal.message).toContain(feature);
});

test('an unsupported resource or option is 501 with its name', async () => {
  const container = await newContainer(cosmos);
  const { database } = container;
  const calls: [string, () => Promise<unknown>][] = [
    ['offers', () => container.readOffer()],
    ['stored procedures', () => container.scripts.storedProcedures.readAll().fetchAll()],
    ['triggers', () => container.scripts.triggers.readAll().fetchAll()],
    ['user-defined functions', () => container.scripts.userDefinedFunctions.readAll().fetchAll()],
    ['users and permissions', () => database.users.readAll().fetchAll()],
    ['the conflict feed', () => container.conflicts.readAll().fetchAll()],
    ['deleting all items of a partition key', () => container.deleteAllItemsForPartitionKey('p')],
    [
      'queries over databases',
      () => database.containers.query({ query: 'SELECT * FROM c', parameters: [] }).fetchAll(),
    ],
    [
      'pre-triggers',
      () => container.items.create({ id: 'a', pk: 'p' }, { preTriggerInclude: ['t'] as never }),
    ],
    [
      'index metrics',
      () => container.items.query('SELECT * FROM c', { populateIndexMetrics: true }).fetchAll(),
    ],
  ];
  for (const [feature, call] of calls) {
    const refusal = await refusalOf(call());
    expect(refusal, feature).toMatchObject({ code: 501 });
    expect(refusal.message).toContain(feature);
  }
});
