/** Queries are charged for the items that they read, so a test sees one that reads too many. */
import type { Container, IndexingPolicy } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer } from './openContainer.ts';

const cosmos = await cosmosForFile();
const count = 300;

test('a filter that an index serves is charged for what it finds, any other for all items', async () => {
  const container = await filled();
  const indexed = await chargeOf(container, `SELECT * FROM c WHERE c.n = 7`);
  const scanned = await chargeOf(container, `SELECT * FROM c WHERE c.n + 1 = 8`);
  expect(indexed).toBeLessThan(3);
  expect(scanned).toBeGreaterThan(indexed + count * 0.04);
});

test('a property that the policy leaves out of the index is scanned for', async () => {
  const container = await filled({ includedPaths: [{ path: '/n/?' }], excludedPaths: [{ path: '/*' }] });
  expect(await chargeOf(container, `SELECT * FROM c WHERE c.n = 7`)).toBeLessThan(3);
  expect(await chargeOf(container, `SELECT * FROM c WHERE c.text = 'item 7'`)).toBeGreaterThan(count * 0.04);
});

test('a count is charged for what it counts, and a page for what it reads', async () => {
  const container = await filled();
  const few = await chargeOf(container, 'SELECT VALUE COUNT(1) FROM c WHERE c.n < 10');
  const all = await chargeOf(container, 'SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0');
  expect(few).toBeLessThan(4);
  expect(all).toBeGreaterThan(few + count * 0.04);
  expect(await chargeOf(container, 'SELECT * FROM c ORDER BY c.n OFFSET 0 LIMIT 5')).toBeLessThan(4);
});

test('an element of an array is found by its beginning, as long as the policy covers the elements', async () => {
  const query = `SELECT * FROM c WHERE EXISTS (SELECT VALUE e FROM e IN c.words WHERE STARTSWITH(e, 'word 29'))`;
  const covered = await filled({ includedPaths: [{ path: '/words/[]/?' }], excludedPaths: [{ path: '/*' }] });
  const left = await filled({ includedPaths: [{ path: '/n/?' }], excludedPaths: [{ path: '/*' }] });
  const idsIn = async (container: Container) =>
    (await container.items.query<{ id: string }>(query).fetchAll()).resources.map(({ id }) => id).toSorted();
  expect(await chargeOf(left, query)).toBeGreaterThan(count * 0.04);
  expect(await chargeOf(covered, query)).toBeLessThan(4);
  expect(await idsIn(covered)).toEqual(await idsIn(left));
  expect(await idsIn(covered)).toHaveLength(11);
  // An item that is written later is found as well, and one that is deleted is not.
  await covered.item('29', 'p').delete();
  await covered.item('290', 'p').patch([{ op: 'set', path: '/words', value: ['other'] }]);
  await covered.items.create({ id: 'new', pk: 'p', words: ['x', 'word 29'] });
  expect(await idsIn(covered)).toHaveLength(10);
  expect(await idsIn(covered)).toContain('new');
});

test('an element of an array is found by a property of it', async () => {
  const query = `SELECT * FROM c WHERE EXISTS (SELECT VALUE e FROM e IN c.list WHERE e.name = 'name 29')`;
  const covered = await filled({
    includedPaths: [{ path: '/list/[]/name/?' }],
    excludedPaths: [{ path: '/*' }],
  });
  const left = await filled({ includedPaths: [{ path: '/list/[]/?' }], excludedPaths: [{ path: '/*' }] });
  expect(await chargeOf(left, query)).toBeGreaterThan(count * 0.04);
  expect(await chargeOf(covered, query)).toBeLessThan(3);
  const { resources } = await covered.items.query<{ id: string }>(query).fetchAll();
  expect(resources.map(({ id }) => id)).toEqual(['29']);
});

async function filled(indexingPolicy?: IndexingPolicy): Promise<Container> {
  const container = await newContainer(cosmos, indexingPolicy === undefined ? {} : { indexingPolicy });
  const items = Array.from({ length: count }, (_, n) => ({
    id: `${n}`,
    pk: 'p',
    n,
    text: `item ${n}`,
    words: ['all', `word ${n}`],
    list: [{ name: `name ${n}` }, 5, { name: 5 }],
  }));
  for (let from = 0; from < count; from += 100) {
    const some = items.slice(from, from + 100);
    await container.items.batch(
      some.map((resourceBody) => ({ operationType: 'Create' as const, resourceBody })),
      'p',
    );
  }
  return container;
}

test('query metrics say how many items were read, and how many returned, on each page', async () => {
  const container = await filled();
  const query = 'SELECT VALUE c.n FROM c WHERE c.n > 1 AND c.n < 5 ORDER BY c.n';
  const pages = container.items.query(query, { populateQueryMetrics: true });
  const { queryMetrics, resources } = await pages.fetchNext();
  expect(resources).toEqual([2, 3, 4]);
  expect(Object.values(queryMetrics as unknown as object)).toMatchObject([
    { retrievedDocumentCount: 3, outputDocumentCount: 3, outputDocumentSize: 3 },
  ]);
});

async function chargeOf(container: Container, query: string): Promise<number> {
  const { requestCharge } = await container.items.query(query).fetchAll();
  return requestCharge;
}
