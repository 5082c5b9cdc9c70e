import type { PatchOperation } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();
const shared = newContainer(cosmos);
let count = 0;

/** The SDK sends a move, but its types lack it. */
type Operation = PatchOperation | { op: 'move'; from: string; path: string };

/** Creates an item. `patch` resolves to the patched item without id, partition key and system properties. */
async function itemWith(properties: Record<string, unknown>) {
  const container = await shared;
  const id = `i${count++}`;
  await container.items.create({ id, pk: 'p', ...properties });
  const item = container.item(id, 'p');
  return {
    item,
    patch: async (...operations: Operation[]) => {
      await item.patch(operations as PatchOperation[]);
      const { resource } = await item.read();
      return Object.fromEntries(Object.entries(resource).filter(([name]) => !/^(id|pk|_[^_].*)$/.test(name)));
    },
  };
}

const accepted: [string, Record<string, unknown>, Operation, Record<string, unknown>][] = [
  ['add creates a property', {}, { op: 'add', path: '/a', value: 1 }, { a: 1 }],
  ['add replaces a property', { a: 1 }, { op: 'add', path: '/a', value: { b: 2 } }, { a: { b: 2 } }],
  ['add inserts into an array', { a: [1, 3] }, { op: 'add', path: '/a/1', value: 2 }, { a: [1, 2, 3] }],
  ['add at the length appends', { a: [1] }, { op: 'add', path: '/a/1', value: 2 }, { a: [1, 2] }],
  ['add at - appends', { a: [1] }, { op: 'add', path: '/a/-', value: 2 }, { a: [1, 2] }],
  ['set creates a property', {}, { op: 'set', path: '/a', value: null }, { a: null }],
  ['set replaces an array element', { a: [1, 3] }, { op: 'set', path: '/a/1', value: 2 }, { a: [1, 2] }],
  [
    'set of a nested property',
    { a: { b: 1, c: 2 } },
    { op: 'set', path: '/a/b', value: 3 },
    { a: { b: 3, c: 2 } },
  ],
  ['replace', { a: 1 }, { op: 'replace', path: '/a', value: 'x' }, { a: 'x' }],
  ['replace in an array', { a: [1, 2] }, { op: 'replace', path: '/a/0', value: 9 }, { a: [9, 2] }],
  ['remove', { a: 1, b: 2 }, { op: 'remove', path: '/a' }, { b: 2 }],
  ['remove from an array', { a: [1, 2, 3] }, { op: 'remove', path: '/a/1' }, { a: [1, 3] }],
  ['incr', { a: 1 }, { op: 'incr', path: '/a', value: 2.5 }, { a: 3.5 }],
  ['incr below zero', { a: 1 }, { op: 'incr', path: '/a', value: -2 }, { a: -1 }],
  ['incr creates a property', {}, { op: 'incr', path: '/a', value: 2 }, { a: 2 }],
  ['move', { a: 1, b: {} }, { op: 'move', from: '/a', path: '/b/c' }, { b: { c: 1 } }],
  ['move over a property', { a: 1, b: 2 }, { op: 'move', from: '/a', path: '/b' }, { b: 1 }],
  ['~1 and ~0 stand for / and ~', { 'a/b~c': 1 }, { op: 'set', path: '/a~1b~0c', value: 2 }, { 'a/b~c': 2 }],
  [
    '__proto__ is a name like any other',
    {},
    { op: 'set', path: '/__proto__', value: 1 },
    JSON.parse('{"__proto__":1}'),
  ],
];

test.each(accepted)('%s', async (_what, before, operation, after) => {
  const { patch } = await itemWith(before);
  expect(await patch(operation)).toEqual(after);
});

const refused: [string, Record<string, unknown>, Operation, RegExp][] = [
  [
    'add below a missing property',
    {},
    { op: 'add', path: '/a/b', value: 1 },
    /Add Operation only support adding a leaf node.*beyond: 'a'/,
  ],
  ['add beyond the end of an array', { a: [] }, { op: 'add', path: '/a/1', value: 1 }, /no path found/],
  ['add to a string', { a: 'x' }, { op: 'add', path: '/a/b', value: 1 }, /no path found/],
  ['replace of a missing property', {}, { op: 'replace', path: '/a', value: 1 }, /no path found/],
  ['replace at -', { a: [1] }, { op: 'replace', path: '/a/-', value: 1 }, /no path found/],
  ['remove of a missing property', {}, { op: 'remove', path: '/a' }, /no path found/],
  ['incr of a string', { a: 'x' }, { op: 'incr', path: '/a', value: 1 }, /number/],
  ['incr by a string', { a: 1 }, { op: 'incr', path: '/a', value: '1' as never }, /number/],
  ['move of a missing property', {}, { op: 'move', from: '/a', path: '/b' }, /no path found/],
  ['move into itself', { a: {} }, { op: 'move', from: '/a', path: '/a/b' }, /child/],
  ['the id', {}, { op: 'set', path: '/id', value: 'x' }, /'id' can't be patched/],
  ['a system property', {}, { op: 'set', path: '/_etag', value: 'x' }, /'_etag' can't be patched/],
  ['the partition key', {}, { op: 'set', path: '/pk', value: 'x' }, /partition key can't be patched/],
  ['an unknown operation', {}, { op: 'test' as never, path: '/a', value: 1 }, /'test' is not supported/],
  ['a path without a slash', {}, { op: 'set', path: 'a', value: 1 }, /The path .*a.* is invalid/],
];

test.each(refused)('refused: %s', async (_what, before, operation, message) => {
  const { item } = await itemWith(before);
  const refusal = await refusalOf(
    item.patch([{ op: 'set', path: '/touched', value: true }, operation as PatchOperation]),
  );
  expect(refusal.code).toBe(400);
  expect(refusal.message).toMatch(message);
  expect(refusal.message).toContain('For Operation(2)');
  expect((await item.read()).resource).not.toHaveProperty('touched');
});

test('operations apply in order and change the ETag once', async () => {
  const { item, patch } = await itemWith({ n: 1 });
  const { etag } = await item.read();
  expect(
    await patch(
      { op: 'incr', path: '/n', value: 1 },
      { op: 'add', path: '/list', value: [] },
      { op: 'add', path: '/list/-', value: 'x' },
    ),
  ).toEqual({ n: 2, list: ['x'] });
  expect((await item.read()).etag).not.toBe(etag);
});

test('a patch has 1 to 10 operations', async () => {
  const { item } = await itemWith({ n: 0 });
  const increments = (many: number) =>
    Array.from({ length: many }, () => ({ op: 'incr', path: '/n', value: 1 }) as const);
  expect((await item.patch(increments(10))).resource).toMatchObject({ n: 10 });
  const refusal = await refusalOf(item.patch(increments(11)));
  expect(refusal).toMatchObject({ code: 400 });
  expect(refusal.message).toContain("can't exceed '10'");
  expect(await refusalOf(item.patch([]))).toMatchObject({ code: 400 });
});

test('a patch of a missing item is 404', async () => {
  const container = await shared;
  const patch = container.item('missing', 'p').patch([{ op: 'set', path: '/a', value: 1 }]);
  expect(await refusalOf(patch)).toMatchObject({ code: 404, substatus: 0 });
});

test('a condition decides whether the patch is applied', async () => {
  const { item } = await itemWith({ status: 'pending', claim: { batchId: 'b1' }, fence: 3 });
  const operations: PatchOperation[] = [{ op: 'set', path: '/status', value: 'paid' }];
  const refusal = await refusalOf(
    item.patch({ condition: 'from c where c.claim.batchId = "b2"', operations }),
  );
  expect(refusal).toMatchObject({ code: 412, substatus: 1110 });
  expect((await item.read()).resource).toMatchObject({ status: 'pending' });
  const condition = 'FROM c WHERE c.claim.batchId = "b1" AND (NOT IS_DEFINED(c.fence) OR c.fence <= 3)';
  expect((await item.patch({ condition, operations })).resource).toMatchObject({ status: 'paid' });
});

test('a condition that is not a query is 400', async () => {
  const { item } = await itemWith({});
  const operations: PatchOperation[] = [{ op: 'set', path: '/a', value: 1 }];
  expect(await refusalOf(item.patch({ condition: 'where c.a = 1 (', operations }))).toMatchObject({
    code: 400,
  });
});
