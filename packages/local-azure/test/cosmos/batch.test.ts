import type { Container, OperationInput, OperationResponse } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

/** The protocol allows conditions on every kind of operation, the SDK's types only on some. */
type Conditional = OperationInput & { ifMatch?: string; ifNoneMatch?: string };

const create = (id: string, more: object = {}): OperationInput => ({
  operationType: 'Create',
  resourceBody: { id, pk: 'p', ...more },
});

async function idsIn(container: Container) {
  const { resources } = await container.items.readAll<{ id: string }>().fetchAll();
  return resources.map(({ id }) => id).sort();
}

const codesOf = (results: OperationResponse[] | undefined) => results?.map(({ statusCode }) => statusCode);

test('a batch runs all kinds of operations, and each sees the effects of those before it', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'old', pk: 'p', n: 1 });
  await container.items.create({ id: 'doomed', pk: 'p' });
  const { result, code, headers } = await container.items.batch(
    [
      create('new', { n: 0 }),
      {
        operationType: 'Patch',
        id: 'new',
        resourceBody: { operations: [{ op: 'incr', path: '/n', value: 5 }] },
      },
      { operationType: 'Replace', id: 'old', resourceBody: { id: 'old', pk: 'p', n: 2 } },
      { operationType: 'Upsert', resourceBody: { id: 'up', pk: 'p' } },
      { operationType: 'Delete', id: 'doomed' },
      { operationType: 'Read', id: 'new' },
    ],
    'p',
  );
  expect(code).toBe(200);
  expect(codesOf(result)).toEqual([201, 200, 200, 201, 204, 200]);
  expect(result?.[5]?.resourceBody).toMatchObject({ id: 'new', n: 5 });
  expect(result?.[5]?.eTag).toBe(result?.[1]?.eTag);
  expect(result?.[2]?.resourceBody).toMatchObject({ n: 2 });
  expect(result?.[4]).not.toHaveProperty('resourceBody');
  const charges = result?.reduce((sum, { requestCharge }) => sum + requestCharge, 0);
  expect(Number(headers?.['x-ms-request-charge'])).toBeCloseTo(charges ?? 0, 1);
  expect(await idsIn(container)).toEqual(['new', 'old', 'up']);
});

const refusals: [string, Conditional, number][] = [
  ['an id that is taken', create('taken'), 409],
  ['a missing item', { operationType: 'Delete', id: 'missing' }, 404],
  ['a stale ETag', { operationType: 'Delete', id: 'taken', ifMatch: '"stale"' }, 412],
  [
    'a patch that does not apply',
    { operationType: 'Patch', id: 'taken', resourceBody: { operations: [{ op: 'remove', path: '/x' }] } },
    400,
  ],
  [
    'a condition that does not hold',
    {
      operationType: 'Patch',
      id: 'taken',
      resourceBody: { condition: 'from c where c.n = 2', operations: [{ op: 'set', path: '/n', value: 3 }] },
    },
    412,
  ],
  ['an item of another partition', { operationType: 'Create', resourceBody: { id: 'x', pk: 'q' } }, 400],
];

test.each(refusals)('%s rolls back the whole batch', async (_what, operation, status) => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'taken', pk: 'p', n: 1 });
  const { result, code } = await container.items.batch(
    [
      create('before'),
      {
        operationType: 'Patch',
        id: 'taken',
        resourceBody: { operations: [{ op: 'set', path: '/n', value: 9 }] },
      },
      operation,
      create('after'),
    ],
    'p',
  );
  expect(code).toBe(207);
  expect(codesOf(result)).toEqual([424, 424, status, 424]);
  expect(await idsIn(container)).toEqual(['taken']);
  expect((await container.item('taken', 'p').read()).resource).toMatchObject({ n: 1 });
});

test('each operation can have its own ETag condition', async () => {
  const container = await newContainer(cosmos);
  const etags = [];
  for (const id of ['a', 'b']) etags.push((await container.items.create({ id, pk: 'p', n: 0 })).etag);
  const patch = (id: string, ifMatch = ''): OperationInput => ({
    operationType: 'Patch',
    id,
    ifMatch,
    resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] },
  });
  const first = await container.items.batch([patch('a', etags[0]), patch('b', etags[1])], 'p');
  expect(codesOf(first.result)).toEqual([200, 200]);
  const second = await container.items.batch(
    [patch('a', first.result?.[0]?.eTag), patch('b', etags[1])],
    'p',
  );
  expect(codesOf(second.result)).toEqual([424, 412]);
  const { resources } = await container.items.query('SELECT VALUE c.n FROM c').fetchAll();
  expect(resources).toEqual([1, 1]);
});

test('a read of an unchanged item is 304 and does not refuse the batch', async () => {
  const container = await newContainer(cosmos);
  const { etag } = await container.items.create({ id: 'a', pk: 'p' });
  const { result } = await container.items.batch(
    [{ operationType: 'Read', id: 'a', ifNoneMatch: etag } as Conditional, create('b')],
    'p',
  );
  expect(codesOf(result)).toEqual([304, 201]);
  expect(result?.[0]).not.toHaveProperty('resourceBody');
});

test('Prefer: return=minimal leaves the items out of the results', async () => {
  const container = await newContainer(cosmos);
  const { result } = await container.items.batch([create('a')], 'p', {
    contentResponseOnWriteEnabled: false,
  });
  expect(result?.[0]).toMatchObject({ statusCode: 201, eTag: expect.any(String) });
  expect(result?.[0]).not.toHaveProperty('resourceBody');
});

test('a batch of 100 operations is accepted, an empty one is refused', async () => {
  const container = await newContainer(cosmos);
  const { result } = await container.items.batch(
    Array.from({ length: 100 }, (_, i) => create(`i${i}`)),
    'p',
  );
  expect(codesOf(result)).toEqual(Array.from({ length: 100 }, () => 201));
  expect(await refusalOf(container.items.batch([], 'p'))).toMatchObject({ code: 400 });
});

test('a batch over 2 MB is refused and writes nothing', async () => {
  const container = await newContainer(cosmos);
  const operations = (bytes: number) => [0, 1].map((i) => create(`i${i}`, { text: 'x'.repeat(bytes / 2) }));
  expect(await refusalOf(container.items.batch(operations(2 * 1024 * 1024), 'p'))).toMatchObject({
    code: 413,
  });
  expect(await idsIn(container)).toEqual([]);
  expect((await container.items.batch(operations(2 * 1024 * 1024 - 1000), 'p')).code).toBe(200);
});

test('of many batches that patch the same item on its ETag, one wins', async () => {
  const container = await newContainer(cosmos);
  const { etag } = await container.items.create({ id: 'a', pk: 'p' });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      container.items.batch(
        [
          {
            operationType: 'Patch',
            id: 'a',
            ifMatch: etag,
            resourceBody: { operations: [{ op: 'set', path: '/by', value: i }] },
          },
          create(`message-${i}`),
        ],
        'p',
      ),
    ),
  );
  const winners = answers.flatMap(({ code }, i) => (code === 200 ? [i] : []));
  expect(winners).toHaveLength(1);
  expect((await container.item('a', 'p').read()).resource).toMatchObject({ by: winners[0] });
  expect(await idsIn(container)).toEqual(['a', `message-${winners[0]}`]);
});

test('an operation that names another partition gets the whole request refused', async () => {
  const container = await newContainer(cosmos);
  const elsewhere = { ...create('a'), partitionKey: 'q' } as OperationInput;
  expect(await refusalOf(container.items.batch([create('b'), elsewhere], 'p'))).toMatchObject({
    code: 400,
    message: expect.stringContaining('have a different partition key value than the request'),
  });
  const same = { ...create('a'), partitionKey: 'p' } as OperationInput;
  expect((await container.items.batch([create('b'), same], 'p')).code).toBe(200);
});
