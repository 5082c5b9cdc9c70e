import { expect, onTestFinished, test } from 'vitest';
import { local } from '../openContainer.ts';
import { twoContainers } from './twoContainers.ts';

const items = ['a', 'b', 'c', 'd'].map((id) => ({ id, pk: 'p' }));

async function container() {
  const opened = await twoContainers(items);
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return opened;
}

async function sizes(
  query: string,
  { several }: Awaited<ReturnType<typeof container>>,
  partitionKey?: string,
) {
  const pages = several.items.query<{ id: string }>(query, {
    maxItemCount: 2,
    ...(partitionKey === undefined ? {} : { partitionKey }),
  });
  const found: string[][] = [];
  while (pages.hasMoreResults()) {
    const { resources } = await pages.fetchNext();
    found.push((resources ?? []).map(({ id }) => id));
  }
  return found;
}

test('an empty page, with a continuation to the page that was asked for', async () => {
  const opened = await container();
  await local(opened.server, 'POST', 'faults', { kind: 'empty-page', count: 2 });
  expect(await sizes('SELECT c.id FROM c ORDER BY c.id', opened, 'p')).toEqual([
    [],
    [],
    ['a', 'b'],
    ['c', 'd'],
    [],
  ]);
});

test('a last page that is full has a continuation, behind which nothing is', async () => {
  const opened = await container();
  const pages = [['a', 'b'], ['c', 'd'], []];
  expect(await sizes('SELECT c.id FROM c ORDER BY c.id', opened, 'p')).toEqual(pages);
  expect(await sizes('SELECT c.id FROM c', opened, 'p')).toEqual(pages);
  expect(await sizes('SELECT TOP 4 c.id FROM c', opened, 'p')).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

test('on demand, a last page with a continuation, behind which nothing is', async () => {
  const opened = await container();
  await local(opened.server, 'POST', 'faults', { kind: 'trailing-empty-page', count: 2 });
  expect(await sizes(`SELECT c.id FROM c WHERE c.id < 'd' ORDER BY c.id`, opened, 'p')).toEqual([
    ['a', 'b'],
    ['c'],
    [],
  ]);
});

test('the SDK passes over empty pages when it merges', async () => {
  const opened = await container();
  await local(opened.server, 'POST', 'faults', { kind: 'empty-page', count: 7 });
  expect((await sizes('SELECT c.id FROM c ORDER BY c.id', opened)).flat()).toEqual(['a', 'b', 'c', 'd']);
  await local(opened.server, 'POST', 'faults', { kind: 'trailing-empty-page', count: 7 });
  expect((await sizes('SELECT c.id FROM c', opened)).flat().sort()).toEqual(['a', 'b', 'c', 'd']);
  const { resources } = await opened.several.items.readAll<{ id: string }>().fetchAll();
  expect(resources).toHaveLength(4);
});
