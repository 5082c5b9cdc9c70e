import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

async function oneItem() {
  const container = await newContainer(cosmos);
  const { etag } = await container.items.create({ id: 'a', pk: 'p', n: 0 });
  return { container, item: container.item('a', 'p'), etag };
}

const ifMatch = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } });
const ifNoneMatch = (condition: string) => ({ accessCondition: { type: 'IfNoneMatch', condition } });

test('a replacement on an ETag works once', async () => {
  const { item, etag } = await oneItem();
  expect((await item.replace({ id: 'a', pk: 'p', n: 1 }, ifMatch(etag))).statusCode).toBe(200);
  const refusal = await refusalOf(item.replace({ id: 'a', pk: 'p', n: 2 }, ifMatch(etag)));
  expect(refusal).toMatchObject({ code: 412, substatus: 0 });
  expect(refusal.message).toContain('One of the specified pre-condition is not met');
  expect((await item.read()).resource).toMatchObject({ n: 1 });
});

test('a stale ETag also refuses delete, patch and upsert', async () => {
  const { container, item, etag } = await oneItem();
  await item.replace({ id: 'a', pk: 'p', n: 1 });
  expect(await refusalOf(item.delete(ifMatch(etag)))).toMatchObject({ code: 412 });
  expect(await refusalOf(item.patch([{ op: 'incr', path: '/n', value: 1 }], ifMatch(etag)))).toMatchObject({
    code: 412,
  });
  expect(await refusalOf(container.items.upsert({ id: 'a', pk: 'p', n: 5 }, ifMatch(etag)))).toMatchObject({
    code: 412,
  });
  expect((await item.read()).resource).toMatchObject({ n: 1 });
});

test('If-Match * only requires the item to exist', async () => {
  const { container, item } = await oneItem();
  expect((await item.replace({ id: 'a', pk: 'p', n: 1 }, ifMatch('*'))).statusCode).toBe(200);
  expect(await refusalOf(container.item('b', 'p').delete(ifMatch('*')))).toMatchObject({ code: 404 });
});

test('as on the service, an upsert of a missing item creates it whatever the ETag', async () => {
  const { container, etag } = await oneItem();
  expect((await container.items.upsert({ id: 'new', pk: 'p' }, ifMatch(etag))).statusCode).toBe(201);
});

test('a read of an unchanged item is 304 without a body', async () => {
  const { item, etag } = await oneItem();
  const unchanged = await item.read(ifNoneMatch(etag));
  expect(unchanged.statusCode).toBe(304);
  expect(unchanged.resource).toBeNull();
  await item.patch([{ op: 'incr', path: '/n', value: 1 }]);
  expect((await item.read(ifNoneMatch(etag))).resource).toMatchObject({ n: 1 });
});

test('the ETag of a deleted item does not match its successor', async () => {
  const { container, item, etag } = await oneItem();
  await item.delete();
  await container.items.create({ id: 'a', pk: 'p', n: 0 });
  expect(await refusalOf(item.replace({ id: 'a', pk: 'p', n: 1 }, ifMatch(etag)))).toMatchObject({
    code: 412,
  });
});
