import { expect, test } from 'vitest';
import { clientOf, cosmosForFile, local, newContainer, refusalOf } from './openContainer.ts';

const cosmos = await cosmosForFile();

async function arm(fault: object) {
  await local(cosmos, 'DELETE', 'faults');
  const { status } = await local(cosmos, 'POST', 'faults', fault);
  expect(status).toBe(201);
}

const hits = async () =>
  ((await local(cosmos, 'GET', 'faults')).body as { hits: number }[]).map((each) => each.hits);

test.each([
  ['429', { substatus: 3200, retryAfterInMs: 25 }],
  ['408', { substatus: 0 }],
  ['503', { substatus: 0 }],
])('%s refuses a write without applying it', async (kind, expected) => {
  const container = await newContainer(cosmos);
  await arm({ kind, count: 1, retryAfterMs: 25 });
  const refusal = await refusalOf(container.items.create({ id: 'a', pk: 'p' }));
  expect(refusal).toMatchObject({ code: Number(kind), ...expected });
  expect((await container.items.create({ id: 'a', pk: 'p' })).statusCode).toBe(201);
});

test('the SDK retries after a 429, as it does on the service', async () => {
  const container = await newContainer(cosmos);
  const patient = clientOf(cosmos, 9).database(container.database.id).container(container.id);
  await patient.read();
  await arm({ kind: '429', count: 3, retryAfterMs: 1 });
  const { statusCode, headers } = await patient.items.create({ id: 'a', pk: 'p' });
  expect(statusCode).toBe(201);
  expect(headers['x-ms-throttle-retry-count']).toBe(3);
  expect(await hits()).toEqual([3]);
});

test('reset-before drops the write, reset-after keeps it', async () => {
  const container = await newContainer(cosmos);
  await arm({ kind: 'reset-before', count: 1 });
  expect(await refusalOf(container.items.create({ id: 'before', pk: 'p' }))).toMatchObject({
    code: 'ECONNRESET',
  });
  await arm({ kind: 'reset-after', count: 1 });
  expect(await refusalOf(container.items.create({ id: 'after', pk: 'p' }))).toMatchObject({
    code: 'ECONNRESET',
  });
  expect((await container.item('before', 'p').read()).statusCode).toBe(404);
  expect((await container.item('after', 'p').read()).statusCode).toBe(200);
});

test('reset-after hides a refusal too', async () => {
  const container = await newContainer(cosmos);
  await container.items.create({ id: 'a', pk: 'p' });
  await arm({ kind: 'reset-after', count: 1 });
  expect(await refusalOf(container.items.create({ id: 'a', pk: 'p' }))).toMatchObject({ code: 'ECONNRESET' });
});

test('a batch whose answer is lost is applied completely', async () => {
  const container = await newContainer(cosmos);
  await arm({ kind: 'reset-after', count: 1, filter: { operation: 'batch' } });
  const batch = container.items.batch(
    ['a', 'b'].map((id) => ({ operationType: 'Create', resourceBody: { id, pk: 'p' } })),
    'p',
  );
  expect(await refusalOf(batch)).toMatchObject({ code: 'ECONNRESET' });
  expect((await container.item('b', 'p').read()).statusCode).toBe(200);
});

test('a delay holds the request before it is applied', async () => {
  const container = await newContainer(cosmos);
  await arm({ kind: 'delay', count: 1, delayMs: 300, filter: { operation: 'create' } });
  const slow = container.items.create({ id: 'a', pk: 'p' });
  await expect.poll(hits).toEqual([1]);
  expect((await container.item('a', 'p').read()).statusCode).toBe(404);
  expect((await slow).statusCode).toBe(201);
});

test('a filter matches container, operation, method and partition key', async () => {
  const container = await newContainer(cosmos);
  const other = await newContainer(cosmos, { id: 'other' });
  for (const each of [container, other]) await each.items.create({ id: 'a', pk: 'p' });
  const calls = {
    read: () => container.item('a', 'p').read(),
    readElsewhere: () => container.item('a', 'q').read(),
    readOther: () => other.item('a', 'p').read(),
    patch: () => container.item('a', 'p').patch([{ op: 'set', path: '/n', value: 1 }]),
  };
  const refusedBy = async (filter: object) => {
    const refused = [];
    for (const [name, call] of Object.entries(calls)) {
      await arm({ kind: '408', count: 1, filter });
      if (
        await call().then(
          () => false,
          () => true,
        )
      )
        refused.push(name);
    }
    return refused;
  };
  expect(await refusedBy({ container: 'other' })).toEqual(['readOther']);
  expect(await refusedBy({ operation: 'patch' })).toEqual(['patch']);
  expect(await refusedBy({ method: 'GET' })).toEqual(['read', 'readElsewhere', 'readOther']);
  expect(await refusedBy({ partitionKey: 'q' })).toEqual(['readElsewhere']);
  expect(await refusedBy({ container: 'items', partitionKey: ['p'], method: 'PATCH' })).toEqual(['patch']);
});

test('a fault without an operation hits only data-plane requests', async () => {
  const container = await newContainer(cosmos);
  await arm({ kind: '408', count: 1 });
  await container.read();
  expect(await hits()).toEqual([0]);
  await arm({ kind: '408', count: 1, filter: { operation: 'readContainer' } });
  expect(await refusalOf(container.read())).toMatchObject({ code: 408 });
});

test('faults fire in the order they were armed and are listed with their hits until cleared', async () => {
  const container = await newContainer(cosmos);
  await arm({ kind: '408', count: 2 });
  await local(cosmos, 'POST', 'faults', { kind: '503', count: 1, filter: { operation: 'create' } });
  const codes = [];
  for (let i = 0; i < 4; i++) {
    const create = container.items.create({ id: `i${i}`, pk: 'p' });
    codes.push(
      await create.then(
        ({ statusCode }) => statusCode,
        ({ code }: { code: number }) => code,
      ),
    );
  }
  expect(codes).toEqual([408, 408, 503, 201]);
  const { body } = await local(cosmos, 'GET', 'faults');
  expect(body).toMatchObject([
    { kind: '408', count: 2, hits: 2, filter: {} },
    { kind: '503', count: 1, hits: 1, filter: { operation: 'create' } },
  ]);
  await local(cosmos, 'DELETE', 'faults');
  expect((await local(cosmos, 'GET', 'faults')).body).toEqual([]);
});

test.each([
  { kind: 'unknown', count: 1 },
  { kind: '429' },
  { kind: '429', count: 0 },
  { kind: '429', count: 1, filter: { operation: 'claim' } },
  { kind: '429', count: 1, filters: {} },
])('%j is not a valid fault', async (fault) => {
  expect((await local(cosmos, 'POST', 'faults', fault)).status).toBe(400);
});
