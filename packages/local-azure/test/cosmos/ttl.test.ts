import { ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { clientOf, cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

let now = Date.parse('2026-01-01T00:00:00Z');
const cosmos = await cosmosForFile({ now: () => now });
const pass = (seconds: number) => {
  now += seconds * 1000;
};

async function visible(container: Container) {
  const { resources } = await container.items.query('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll();
  return resources;
}

test('an item expires by its own ttl and vanishes at once from reads, queries and the change feed', async () => {
  const container = await newContainer(cosmos, { defaultTtl: -1 });
  await container.items.create({ id: 'short', pk: 'p', ttl: 10 });
  await container.items.create({ id: 'stays', pk: 'p' });
  pass(9);
  expect(await visible(container)).toEqual(['short', 'stays']);
  pass(1);
  expect(await visible(container)).toEqual(['stays']);
  expect((await container.item('short', 'p').read()).statusCode).toBe(404);
  const feed = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  expect((await feed.readNext()).result).toMatchObject([{ id: 'stays' }]);
});

test('an expired item is also missing for writes, and its id is free', async () => {
  const container = await newContainer(cosmos, { defaultTtl: 10 });
  for (const id of ['a', 'b', 'c', 'd']) await container.items.create({ id, pk: 'p' });
  pass(10);
  expect(await refusalOf(container.item('a', 'p').replace({ id: 'a', pk: 'p' }))).toMatchObject({
    code: 404,
  });
  expect(await refusalOf(container.item('b', 'p').delete())).toMatchObject({ code: 404 });
  const patch = container.item('c', 'p').patch([{ op: 'set', path: '/n', value: 1 }]);
  expect(await refusalOf(patch)).toMatchObject({ code: 404 });
  expect((await container.items.upsert({ id: 'd', pk: 'p' })).statusCode).toBe(201);
  expect((await container.items.create({ id: 'a', pk: 'p' })).statusCode).toBe(201);
});

test('an item can lengthen, shorten or turn off the container’s default', async () => {
  const container = await newContainer(cosmos, { defaultTtl: 10 });
  await container.items.create({ id: 'default', pk: 'p' });
  await container.items.create({ id: 'never', pk: 'p', ttl: -1 });
  await container.items.create({ id: 'longer', pk: 'p', ttl: 20 });
  await container.items.create({ id: 'shorter', pk: 'p', ttl: 5 });
  pass(5);
  expect(await visible(container)).toEqual(['default', 'longer', 'never']);
  pass(5);
  expect(await visible(container)).toEqual(['longer', 'never']);
  pass(10);
  expect(await visible(container)).toEqual(['never']);
});

test('an item’s ttl has no effect if the container has no default', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p', ttl: 1 });
  pass(100);
  expect(await visible(container)).toEqual(['a']);
});

test('a write restarts the ttl, and a patch can set it', async () => {
  const container = await newContainer(cosmos, { defaultTtl: -1 });
  await container.items.create({ id: 'a', pk: 'p', ttl: 10 });
  await container.items.create({ id: 'b', pk: 'p' });
  pass(9);
  await container.item('a', 'p').patch([{ op: 'set', path: '/n', value: 1 }]);
  await container.item('b', 'p').patch([{ op: 'set', path: '/ttl', value: 5 }]);
  pass(5);
  expect(await visible(container)).toEqual(['a']);
  pass(5);
  expect(await visible(container)).toEqual([]);
});

test('a new default of the container applies to existing items', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  await container.items.create({ id: 'never', pk: 'p', ttl: -1 });
  await container.items.create({ id: 'own', pk: 'p', ttl: 60 });
  const { resource } = await container.read();
  await container.replace({ ...resource, id: 'items', defaultTtl: 30 });
  pass(30);
  expect(await visible(container)).toEqual(['never', 'own']);
  await container.replace({ id: 'items', partitionKey: { paths: ['/pk'] } });
  pass(60);
  expect(await visible(container)).toEqual(['never', 'own']);
});

test('an expired item does not hold a unique key', async () => {
  const container = await newContainer(cosmos, {
    defaultTtl: 5,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
  });
  await container.items.create({ id: 'a', pk: 'p', email: 'e' });
  pass(5);
  expect((await container.items.create({ id: 'b', pk: 'p', email: 'e' })).statusCode).toBe(201);
});

test.each([0, -2, 1.5, '10', null])('a ttl of %j is refused', async (ttl) => {
  const container = await newContainer(cosmos, { defaultTtl: -1 });
  const refusal = await refusalOf(container.items.create<object>({ id: 'a', pk: 'p', ttl }));
  expect(refusal).toMatchObject({ code: 400 });
  expect(refusal.message).toContain('nonzero positive integer');
});

test('a default ttl of 0 is refused', async () => {
  const { database } = await clientOf(cosmos).databases.createIfNotExists({ id: 'ttl' });
  const definition = { id: 'zero', partitionKey: { paths: ['/pk'] }, defaultTtl: 0 };
  expect(await refusalOf(database.containers.create(definition))).toMatchObject({ code: 400 });
});
