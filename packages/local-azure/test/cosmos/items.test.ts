import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { cosmosForFile, newContainer, refusalOf, sendSigned } from './openContainer.ts';

const cosmos = await cosmosForFile();

test('a created item reads back with the service’s system properties', async () => {
  const container = await newContainer(cosmos);
  const before = Math.floor(Date.now() / 1000);
  const created = await container.items.create({
    id: 'a',
    pk: 'p',
    text: 'ä " \u2028 😀',
    nested: { list: [1, null] },
  });
  expect(created.statusCode).toBe(201);
  const { resource, statusCode, etag, requestCharge } = await container.item('a', 'p').read();
  expect(statusCode).toBe(200);
  expect(resource).toEqual(created.resource);
  expect(resource).toMatchObject({ id: 'a', pk: 'p', text: 'ä " \u2028 😀', nested: { list: [1, null] } });
  expect(resource._etag).toBe(etag);
  expect(resource._ts).toBeGreaterThanOrEqual(before);
  expect(Buffer.from(resource._rid, 'base64')).toHaveLength(16);
  expect(resource._self).toMatch(/^dbs\/.+\/colls\/.+\/docs\/.+\/$/);
  expect(resource._attachments).toBe('attachments/');
  expect(requestCharge).toBeGreaterThan(0);
  expect(created.headers['x-ms-session-token']).toMatch(/^0:-1#\d+$/);
});

test('a missing item reads as 404 without a resource', async () => {
  const container = await newContainer(cosmos);
  const { statusCode, resource, substatus } = await container.item('none', 'p').read();
  expect({ statusCode, resource, substatus }).toEqual({ statusCode: 404, resource: undefined, substatus: 0 });
});

test('an id is unique within a partition but not across partitions', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  const refusal = await refusalOf(container.items.create({ id: 'a', pk: 'p' }));
  expect(refusal).toMatchObject({ code: 409, substatus: 0 });
  expect(refusal.message).toContain('Resource with specified id or name already exists.');
  expect((await container.items.create({ id: 'a', pk: 'q' })).statusCode).toBe(201);
});

test('a replacement keeps the resource id and changes the ETag, whatever system properties the client sends', async () => {
  const container = await newContainer(cosmos);
  const { resource: first } = await container.items.create({ id: 'a', pk: 'p', n: 1, gone: true });
  const { resource: second, statusCode } = await container
    .item('a', 'p')
    .replace({ id: 'a', pk: 'p', n: 2, _ts: 1, _etag: 'mine', _rid: 'mine' });
  expect(statusCode).toBe(200);
  expect(second).toMatchObject({ n: 2, _rid: first?._rid });
  expect(second).not.toHaveProperty('gone');
  expect(second?._etag).not.toBe(first?._etag);
  expect(second?._etag).not.toBe('mine');
  expect(second?._ts).toBeGreaterThan(1);
  expect((await container.item('a', 'p').read()).resource).toEqual(second);
});

test('replacing or deleting a missing item is 404', async () => {
  const container = await newContainer(cosmos);
  expect(await refusalOf(container.item('a', 'p').replace({ id: 'a', pk: 'p' }))).toMatchObject({
    code: 404,
  });
  expect(await refusalOf(container.item('a', 'p').delete())).toMatchObject({ code: 404, substatus: 0 });
});

test('an upsert creates, then replaces', async () => {
  const container = await newContainer(cosmos);
  expect((await container.items.upsert({ id: 'a', pk: 'p', n: 1 })).statusCode).toBe(201);
  expect((await container.items.upsert({ id: 'a', pk: 'p', n: 2 })).statusCode).toBe(200);
  expect((await container.item('a', 'p').read()).resource).toMatchObject({ n: 2 });
});

test('deleting an item frees its id', async () => {
  const container = await newContainer(cosmos);
  const first = await container.items.create({ id: 'a', pk: 'p' });
  expect((await container.item('a', 'p').delete()).statusCode).toBe(204);
  expect((await container.item('a', 'p').read()).statusCode).toBe(404);
  const second = await container.items.create({ id: 'a', pk: 'p' });
  expect(second.resource?._rid).not.toBe(first.resource?._rid);
});

test.each([
  ['string', 's'],
  ['number', 1.5],
  ['boolean', true],
  ['null', null],
])('a partition key may be a %s, and the types do not mix', async (_type, pk) => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk });
  expect((await container.item('a', pk).read()).statusCode).toBe(200);
  expect((await container.item('a', String(pk)).read()).statusCode).toBe(typeof pk === 'string' ? 200 : 404);
});

test('an item without the partition key property is read with an undefined key', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a' });
  expect((await container.item('a', undefined).read()).statusCode).toBe(200);
  expect((await container.item('a', null).read()).statusCode).toBe(404);
});

test('a partition key path may be nested, and a key hierarchical', async () => {
  const nested = await newContainer(cosmos, { partitionKey: { paths: ['/a/b'] } });
  await nested.items.create({ id: '1', a: { b: 'x' } });
  expect((await nested.item('1', 'x').read()).statusCode).toBe(200);
  const paths = ['/tenant', '/user'];
  const hierarchical = await newContainer(cosmos, {
    partitionKey: { paths, kind: 'MultiHash' as never, version: 2 },
  });
  await hierarchical.items.create({ id: '1', tenant: 't', user: 7 });
  expect((await hierarchical.item('1', ['t', 7]).read()).statusCode).toBe(200);
  expect(await refusalOf(hierarchical.item('1', ['t']).read())).toMatchObject({ code: 400 });
  const ofTenant = hierarchical.items.query('SELECT * FROM c', { partitionKey: ['t'] });
  expect(await refusalOf(ofTenant.fetchAll())).toMatchObject({ code: 501 });
});

test('a partition key that differs from the item’s is refused with sub-status 1001', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  expect(await refusalOf(container.item('a', 'p').replace({ id: 'a', pk: 'q' }))).toMatchObject({
    code: 400,
    substatus: 1001,
  });
});

test('the id of an item cannot be changed', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  expect(await refusalOf(container.item('a', 'p').replace({ id: 'b', pk: 'p' }))).toMatchObject({
    code: 400,
  });
});

test('an id has at most 1,023 bytes and none of / \\ #', async () => {
  const container = await newContainer(cosmos);
  const longest = `${'é'.repeat(511)}x`;
  expect((await container.items.create({ id: longest, pk: 'p' })).statusCode).toBe(201);
  expect((await container.item(longest, 'p').read()).statusCode).toBe(200);
  expect(await refusalOf(container.items.create({ id: 'é'.repeat(512), pk: 'p' }))).toMatchObject({
    code: 400,
  });
  // The SDK itself refuses the three characters.
  const { database } = container;
  const post = (id: string) =>
    sendSigned(cosmos, 'POST', {
      type: 'docs',
      link: `dbs/${database.id}/colls/items`,
      path: `dbs/${database.id}/colls/items/docs`,
      headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
      body: JSON.stringify({ id, pk: 'p' }),
    });
  expect((await Promise.all(['a/b', 'a\\b', 'a#b'].map(post))).map(({ status }) => status)).toEqual([
    400, 400, 400,
  ]);
  const refusal = await refusalOf(
    container.items.create({ pk: 'p' }, { disableAutomaticIdGeneration: true }),
  );
  expect(refusal).toMatchObject({ code: 400 });
  expect(refusal.message).toContain("required properties - 'id; ' - are missing");
});

test.each(['a b', ' a', 'a?b', '100%', '%zz', '%ff', "it's", 'ä+ö&=', 'x:y;z,@!$()*'])(
  'the id %j survives the URL',
  async (id) => {
    const container = await newContainer(cosmos);
    await container.items.create({ id, pk: 'p' });
    expect((await container.item(id, 'p').read()).resource).toMatchObject({ id });
    expect((await container.item(id, 'p').delete()).statusCode).toBe(204);
  },
);

test('objects and arrays in an item are nested at most 128 deep', async () => {
  const container = await newContainer(cosmos);
  const nested = (levels: number): unknown =>
    levels === 0 ? 1 : levels % 2 === 0 ? { of: nested(levels - 1) } : [nested(levels - 1)];
  expect((await container.items.create({ id: 'a', pk: 'p', of: nested(128) })).statusCode).toBe(201);
  expect(await refusalOf(container.items.create({ id: 'b', pk: 'p', of: nested(129) }))).toMatchObject({
    code: 400,
    message: expect.stringContaining('nested'),
  });
});

test('an item has at most 2 MB, a partition key value 2 KB', async () => {
  const container = await newContainer(cosmos);
  const most = 2 * 1024 * 1024;
  const create = (id: string, bytes: number) =>
    container.items.create({ id, pk: 'p', text: 'é'.repeat(bytes / 2) });
  expect((await create('a', most - 1000)).statusCode).toBe(201);
  // The request fits, but the item with its system properties does not.
  expect(await refusalOf(create('b', most - 100))).toMatchObject({ code: 413 });
  expect(await refusalOf(create('c', most))).toMatchObject({ code: 413 });
  expect((await container.items.create({ id: 'c', pk: 'x'.repeat(2048) })).statusCode).toBe(201);
  expect(await refusalOf(container.items.create({ id: 'd', pk: 'x'.repeat(2049) }))).toMatchObject({
    code: 400,
  });
});

test('a partition key of version 1 has at most 101 bytes', async () => {
  const container = await newContainer(cosmos, { partitionKey: { paths: ['/pk'], version: 1 } });
  expect((await container.items.create({ id: 'a', pk: 'x'.repeat(101) })).statusCode).toBe(201);
  expect(await refusalOf(container.items.create({ id: 'b', pk: 'x'.repeat(102) }))).toMatchObject({
    code: 400,
  });
});

test('reading all items pages through the container', async () => {
  const container = await newContainer(cosmos);
  const ids = Array.from({ length: 7 }, (_, i) => `i${i}`);
  for (const id of ids) await container.items.create({ id, pk: randomUUID() });
  const { resources } = await container.items.readAll({ maxItemCount: 3 }).fetchAll();
  expect(new Set(resources.map(({ id }) => id))).toEqual(new Set(ids));
  expect(resources).toHaveLength(ids.length);
});

test('the plain read feed of the REST API pages with a continuation', async () => {
  const { database } = await newContainer(cosmos);
  const link = `dbs/${database.id}/colls/items`;
  for (const id of ['a', 'b', 'c']) await database.container('items').items.create({ id, pk: id });
  const page = async (continuation: string) => {
    const headers = { 'x-ms-max-item-count': '2', 'x-ms-continuation': continuation };
    const response = await sendSigned(cosmos, 'GET', { type: 'docs', link, path: `${link}/docs`, headers });
    const { Documents } = (await response.json()) as { Documents: { id: string }[] };
    return { ids: Documents.map(({ id }) => id), next: response.headers.get('x-ms-continuation') };
  };
  const first = await page('');
  expect(first.ids).toEqual(['a', 'b']);
  expect(await page(first.next ?? '')).toEqual({ ids: ['c'], next: null });
});

test('Prefer: return=minimal leaves the item out of the answer', async () => {
  const { database } = await newContainer(cosmos);
  const link = `dbs/${database.id}/colls/items`;
  const headers = { prefer: 'return=minimal', 'x-ms-documentdb-partitionkey': '["p"]' };
  const body = JSON.stringify({ id: 'a', pk: 'p' });
  const created = await sendSigned(cosmos, 'POST', {
    type: 'docs',
    link,
    path: `${link}/docs`,
    headers,
    body,
  });
  expect([created.status, await created.text()]).toEqual([201, '']);
  expect(created.headers.get('etag')).toMatch(/^".+"$/);
});

test('a missing or malformed partition key header is 400, and so is a body that is not JSON', async () => {
  const { database } = await newContainer(cosmos);
  const link = `dbs/${database.id}/colls/items`;
  const post = (headers: Record<string, string>, body: string) =>
    sendSigned(cosmos, 'POST', { type: 'docs', link, path: `${link}/docs`, headers, body });
  expect((await post({}, '{"id":"a","pk":"p"}')).status).toBe(400);
  expect((await post({ 'x-ms-documentdb-partitionkey': '["p"]' }, '{"id":')).status).toBe(400);
  expect((await post({ 'x-ms-documentdb-partitionkey': 'p' }, '{"id":"a","pk":"p"}')).status).toBe(400);
});

test('an item in a missing container is 404 with sub-status 1003', async () => {
  const container = await newContainer(cosmos);
  const missing = container.database.container('missing');
  const { statusCode, substatus } = await missing.item('a', 'p').read();
  expect({ statusCode, substatus }).toEqual({ statusCode: 404, substatus: 1003 });
});

test.each([
  ['a ', 401],
  ['a   ', 401],
  ['end%20', 401],
  ['%2F', 401],
  ['%E9%B1%80', 401],
  ['a\tb', undefined],
  ['a\rb', undefined],
  ['a\nb', undefined],
])(
  'an item with the id %j is created, and reached by queries and batches only: else %s',
  async (id, code) => {
    const container = await newContainer(cosmos);
    expect((await container.items.create({ id, pk: 'p' })).resource?.id).toBe(id);
    const item = container.item(id, 'p');
    for (const call of [() => item.read(), () => item.replace({ id, pk: 'p' }), () => item.delete()])
      expect(await refusalOf(call())).toMatchObject({ code });
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
    expect(resources).toEqual([id]);
    const { result } = await container.items.batch([{ operationType: 'Delete', id }], 'p');
    expect(result).toMatchObject([{ statusCode: 204 }]);
  },
);
