import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

test.each(['/id ds', '/*', '/a/*', '/a?', '/a[]', '/a/'])(
  'the partition key path %s is refused, as on the service',
  async (path) => {
    const { code } = await refusalOf(newContainer(cosmos, { partitionKey: { paths: [path] } }));
    expect(code).toBe(400);
  },
);

test('the message about a path without a slash names the path', async () => {
  const paths = ['id', '/id2'];
  const refusal = refusalOf(
    newContainer(cosmos, { partitionKey: { paths, kind: 'MultiHash' as never, version: 2 } }),
  );
  expect((await refusal).message).toContain("definition path 'id' could not be accepted");
});

test.each([
  ['/pk', { pk: 'x' }],
  ['/a/b', { a: { b: 'x' } }],
  ['/tenant-id', { 'tenant-id': 'x' }],
  ['/"a b"', { 'a b': 'x' }],
])('the partition key path %s is taken', async (path, item) => {
  const container = await newContainer(cosmos, { partitionKey: { paths: [path] } });
  await container.items.create({ id: '1', ...item });
  expect((await container.item('1', 'x').read()).statusCode).toBe(200);
});
