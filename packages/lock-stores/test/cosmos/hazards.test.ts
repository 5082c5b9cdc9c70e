import { randomUUID } from 'node:crypto';
import { type Container, CosmosClient } from '@azure/cosmos';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { lockContainer } from '../../../../test/support/lockContainer.ts';
import { payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { cosmosLockStore } from '../../src/cosmos/cosmosLockStore.ts';

const leaseMs = 4_000;
/** The clock of Cosmos, which sets `_ts` and ends items. */
let now = Date.parse('2026-01-01T00:00:00.000Z');
const pass = (ms: number) => {
  now += ms;
};
const cosmos = await payonceCosmos({ now: () => now });
const container = lockContainer(cosmos.connectionString);
const store = cosmosLockStore(container);
const other = cosmosLockStore(lockContainer(cosmos.connectionString));
afterAll(() => cosmos[Symbol.asyncDispose]());

async function newLock(): Promise<string> {
  const key = randomUUID();
  await store.create(key, never);
  return key;
}

describe('a TTL counts from a time in whole seconds', () => {
  /** A lease as one would write it first: an item whose TTL is the length of the lease. */
  const naive = async (key: string) => {
    try {
      await container.items.create({ id: 'naive', lock: key, ttl: leaseMs / 1000 });
      return 'acquired';
    } catch {
      return 'held';
    }
  };
  const offsets = [0, 1, 500, 999];

  test('with a TTL of its length, a lease of 4 s can end after 3.1 s', async () => {
    const key = randomUUID();
    now = Math.ceil(now / 1000) * 1000 + 900;
    expect(await naive(key)).toBe('acquired');
    pass(3_099);
    expect(await naive(key)).toBe('held');
    pass(1);
    expect(await naive(key)).toBe('acquired');
  });

  test.each(offsets)(
    'a lease that begins %i ms into a second lasts its time, and at most a second more',
    async (offset) => {
      const key = await newLock();
      now = Math.ceil(now / 1000) * 1000 + offset;
      expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
      pass(leaseMs);
      expect(await other.acquire(key, two, leaseMs, never)).toBe('held');
      pass(1_000);
      expect(await other.acquire(key, two, leaseMs, never)).toBe('acquired');
    },
  );

  test.each(offsets)('so does one that is renewed %i ms into a second', async (offset) => {
    const key = await newLock();
    await store.acquire(key, one, leaseMs, never);
    now = Math.ceil(now / 1000) * 1000 + offset;
    expect(await store.renew(key, one, leaseMs, never)).toBe('renewed');
    pass(leaseMs);
    expect(await other.acquire(key, two, leaseMs, never)).toBe('held');
    pass(1_000);
    expect(await other.acquire(key, two, leaseMs, never)).toBe('acquired');
  });
});

test('the clock of a client plays no role', async () => {
  const [mine, theirs] = [await newLock(), await newLock()];
  try {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 });
    expect(await other.acquire(theirs, two, leaseMs, never)).toBe('acquired');
    expect(await other.acquire(mine, two, leaseMs, never)).toBe('acquired');
  } finally {
    vi.useRealTimers();
  }
  expect(await store.acquire(theirs, one, leaseMs, never)).toBe('held');
  pass(leaseMs + 1_000);
  expect(await store.acquire(mine, one, leaseMs, never)).toBe('acquired');
});

test('to read first and write then lets two in; the create of the lease decides', async () => {
  const key = await newLock();
  const readThenWrite = async (holder: string) => {
    const { resource } = await container.item('naive', key).read();
    if (resource !== undefined) return 'held';
    await container.items.upsert({ id: 'naive', lock: key, holder, ttl: 5 });
    return 'acquired';
  };
  expect(await Promise.all([readThenWrite('a'), readThenWrite('b')])).toEqual(['acquired', 'acquired']);
  const outcomes = [store.acquire(key, one, leaseMs, never), other.acquire(key, two, leaseMs, never)];
  expect((await Promise.all(outcomes)).toSorted()).toEqual(['acquired', 'held']);
});

describe('an account or container that is no place for locks is refused', () => {
  test('several write regions', async () => {
    await using several = await payonceCosmos({ multipleWriteLocations: true });
    const misplaced = cosmosLockStore(several.containers.locks);
    await misplaced.create('a', never);
    for (let tries = 0; tries < 2; tries++) {
      await expect(misplaced.acquire('a', one, leaseMs, never)).rejects.toThrow('several write regions');
    }
  });

  async function inContainer(definition: { partitionKey?: string; defaultTtl?: number }): Promise<Container> {
    const client = new CosmosClient(cosmos.connectionString);
    const { database } = await client.databases.createIfNotExists({ id: 'misplaced' });
    const { partitionKey = '/lock', ...rest } = definition;
    const { container: made } = await database.containers.create({
      id: randomUUID(),
      partitionKey: { paths: [partitionKey] },
      ...rest,
    });
    return made;
  }

  test.each([
    ['no TTL, so that no lease would end', {}],
    ['a TTL for all items, so that fences would be forgotten', { defaultTtl: 3600 }],
    ['another partition key', { partitionKey: '/pk', defaultTtl: -1 }],
  ])('%s', async (_, definition) => {
    const misplaced = cosmosLockStore(await inContainer(definition));
    await expect(misplaced.acquire('a', one, leaseMs, never)).rejects.toThrow(
      /must have the partition key \/lock and the default TTL -1/,
    );
  });
});

const batches = { container: 'locks', operation: 'batch' };

test('an acquire whose answer was lost has the lock, and its repetition says so', async () => {
  const key = await newLock();
  await store.acquire(await newLock(), one, leaseMs, never);
  await cosmos.fault({ kind: 'reset-after', count: 1, filter: batches });
  await expect(store.acquire(key, one, leaseMs, never)).rejects.toThrow('ECONNRESET');
  expect(await other.acquire(key, two, leaseMs, never)).toBe('held');
  expect(await store.acquire(key, one, leaseMs, never)).toBe('acquired');
});

test('the SDK does not repeat a throttled request once the signal has aborted, and the call does not wait for it', async () => {
  const key = await newLock();
  await store.acquire(await newLock(), one, leaseMs, never);
  await cosmos.fault({ kind: '429', count: 1, retryAfterMs: 3_000, filter: batches });
  const startedAt = performance.now();
  await expect(store.acquire(key, one, leaseMs, AbortSignal.timeout(200))).rejects.toThrow('timeout');
  expect(performance.now() - startedAt).toBeLessThan(2_800);
  await systemClock.sleep(3_500);
  expect(await store.look(key, never)).toMatchObject({ held: false });
});

test('a request that was aborted while connecting is not sent later', async () => {
  const { port } = new URL(/AccountEndpoint=([^;]+)/.exec(cosmos.connectionString)?.[1] ?? '');
  await using proxy = await startTcpProxy({ port: Number(port) });
  const behind = lockContainer(cosmos.connectionString.replace(`:${port}`, `:${proxy.port}`));
  proxy.fault({ kind: 'hold' });
  const key = randomUUID();
  await expect(cosmosLockStore(behind).create(key, AbortSignal.timeout(300))).rejects.toThrow('timeout');
  proxy.fault({ kind: 'none' });
  await behind.read();
  await systemClock.sleep(300);
  expect(await store.look(key, never)).toBeUndefined();
  behind.database.client.dispose();
});
