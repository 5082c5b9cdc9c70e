import { type ChangeFeedIteratorOptions, ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

/** Reads pages until nothing is new. Resolves to the ids on each page and the continuation token. */
async function readChanges(container: Container, options: ChangeFeedIteratorOptions) {
  const iterator = container.items.getChangeFeedIterator<{ id: string }>(options);
  const pages: string[][] = [];
  for (;;) {
    const { statusCode, result, continuationToken } = await iterator.readNext();
    if (statusCode === 304) return { pages, continuationToken };
    pages.push(result.map(({ id }) => id));
  }
}

test('from the beginning: the latest version of each item, in order of its last write', async () => {
  const container = await newContainer(cosmos);
  for (const id of ['a', 'b', 'c', 'd']) await container.items.create({ id, pk: id });
  await container.item('a', 'a').patch([{ op: 'set', path: '/n', value: 1 }]);
  await container.item('c', 'c').delete();
  const { pages } = await readChanges(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  expect(pages).toEqual([['b', 'd', 'a']]);
});

test('pages have the requested size, and each change comes once with its LSN', async () => {
  const container = await newContainer(cosmos);
  for (let i = 0; i < 7; i++) await container.items.create({ id: `i${i}`, pk: 'p' });
  const { pages } = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    maxItemCount: 3,
  });
  expect(pages).toEqual([['i0', 'i1', 'i2'], ['i3', 'i4', 'i5'], ['i6']]);
  const first = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  expect((await first.readNext()).result[0]).toMatchObject({ id: 'i0', _lsn: expect.any(Number) });
});

test('the changes of one transaction stay on one page', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'first', pk: 'p' });
  const ids = ['b0', 'b1', 'b2', 'b3'];
  await container.items.batch(
    ids.map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' } })),
    'p',
  );
  await container.items.create({ id: 'last', pk: 'p' });
  const { pages } = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
    maxItemCount: 2,
  });
  expect(pages).toEqual([['first', ...ids], ['last']]);
});

test('from now: only later changes', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'old', pk: 'p' });
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() });
  expect((await iterator.readNext()).statusCode).toBe(304);
  await container.items.create({ id: 'new', pk: 'p' });
  expect((await iterator.readNext()).result).toMatchObject([{ id: 'new' }]);
});

test('from a continuation token: where the previous reader stopped', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  const { continuationToken } = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Beginning(),
  });
  await container.items.create({ id: 'b', pk: 'q' });
  const { pages } = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
  });
  expect(pages).toEqual([['b']]);
});

test('for one partition key', async () => {
  const container = await newContainer(cosmos);
  for (const id of ['a', 'b', 'c']) await container.items.create({ id, pk: id === 'b' ? 'q' : 'p' });
  const from = (pk: string) =>
    readChanges(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(pk) });
  expect((await from('p')).pages).toEqual([['a', 'c']]);
  const { pages, continuationToken } = await from('q');
  expect(pages).toEqual([['b']]);
  await container.item('a', 'p').patch([{ op: 'set', path: '/n', value: 1 }]);
  await container.item('b', 'q').patch([{ op: 'set', path: '/n', value: 1 }]);
  const later = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuationToken),
  });
  expect(later.pages).toEqual([['b']]);
});

test('for the feed ranges that the container returns', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  const ranges = await container.getFeedRanges();
  expect(ranges).toHaveLength(1);
  for (const range of ranges) {
    const { pages } = await readChanges(container, {
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range),
    });
    expect(pages).toEqual([['a']]);
  }
});

test('from a point in time', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const clocked = await cosmosForFile({ now: () => now });
  const container = await newContainer(clocked);
  await container.items.create({ id: 'old', pk: 'p' });
  now += 60_000;
  await container.items.create({ id: 'new', pk: 'p' });
  const { pages } = await readChanges(container, {
    changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(now - 30_000)),
  });
  expect(pages).toEqual([['new']]);
});

test('the mode for all versions and deletes is refused by name', async () => {
  const container = await newContainer(cosmos);
  const iterator = container.items.getChangeFeedIterator({
    changeFeedMode: 'Full-Fidelity Feed' as never,
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
  });
  const refusal = await refusalOf(iterator.readNext());
  expect(refusal).toMatchObject({ code: 501 });
  expect(refusal.message).toContain('the change feed of all versions and deletes');
});
