import type { OperationInput } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer } from './openContainer.ts';

const cosmos = await cosmosForFile();

test('bulk operations on several partitions succeed or fail independently', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'taken', pk: 'p' });
  const results = await container.items.bulk([
    { operationType: 'Create', partitionKey: 'p', resourceBody: { id: 'a', pk: 'p' } },
    { operationType: 'Create', partitionKey: 'p', resourceBody: { id: 'taken', pk: 'p' } },
    { operationType: 'Upsert', partitionKey: 'q', resourceBody: { id: 'b', pk: 'q' } },
    { operationType: 'Delete', partitionKey: 'q', id: 'missing' },
    {
      operationType: 'Patch',
      partitionKey: 'p',
      id: 'a',
      resourceBody: { operations: [{ op: 'set', path: '/n', value: 1 }] },
    },
    { operationType: 'Read', partitionKey: 'p', id: 'a' },
  ]);
  expect(results.map(({ statusCode }) => statusCode)).toEqual([201, 409, 201, 404, 200, 200]);
  expect(results[5]?.resourceBody).toMatchObject({ id: 'a', n: 1 });
});

test('executeBulkOperations writes many operations', async () => {
  const container = await newContainer(cosmos);
  const operations: OperationInput[] = Array.from({ length: 250 }, (_, i) => ({
    operationType: 'Create',
    partitionKey: `p${i % 7}`,
    resourceBody: { id: `i${i}`, pk: `p${i % 7}` },
  }));
  const results = await container.items.executeBulkOperations(operations);
  expect(results.map(({ response }) => response?.statusCode)).toEqual(operations.map(() => 201));
  const { resources } = await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
  expect(resources).toEqual([250]);
});

test('without continueOnError a bulk request stops at the first refusal', async () => {
  const container = await newContainer(cosmos);
  const results = await container.items.bulk(
    [
      { operationType: 'Create', partitionKey: 'p', resourceBody: { id: 'a', pk: 'p' } },
      { operationType: 'Delete', partitionKey: 'p', id: 'missing' },
      { operationType: 'Create', partitionKey: 'p', resourceBody: { id: 'b', pk: 'p' } },
    ],
    { continueOnError: false },
  );
  expect(results.map(({ statusCode }) => statusCode)).toEqual([201, 404, 424]);
  expect((await container.item('a', 'p').read()).statusCode).toBe(200);
  expect((await container.item('b', 'p').read()).statusCode).toBe(404);
});
