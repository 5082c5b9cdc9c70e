import { createClient, createCluster, createSentinel } from '@redis/client';
import { Cluster, Redis } from 'ioredis';
import mysql from 'mysql2';
import { createPool } from 'mysql2/promise';
import { Client, Pool, types } from 'pg';
import { expect, test } from 'vitest';
import { describeWith } from '../../../test/support/servers/findProgram.ts';
import { mariadbPrograms, startMariadb } from '../../../test/support/servers/mariadb.ts';
import { postgresPrograms, startPostgres } from '../../../test/support/servers/postgres.ts';
import { redisPrograms, startRedis } from '../../../test/support/servers/redis.ts';
import { createLocks, type LockStore } from '../../leases/src/index.ts';
import { mysqlLockStore } from '../src/mysql/mysqlLockStore.ts';
import { postgresAdvisoryLockStore } from '../src/postgres/postgresAdvisoryLockStore.ts';
import { postgresLockStore } from '../src/postgres/postgresLockStore.ts';
import { redisLockStore } from '../src/redis/redisLockStore.ts';

const owner = { instance: 'a', job: 'own clients' };

/**
 * Takes and lists a lock on the client, which others on the same server find held, and who wait for it on the client until it is
 * free. Afterwards the client belongs to its owner still.
 */
async function serves(onClient: LockStore, onServer: LockStore): Promise<void> {
  await using elsewhere = createLocks(onServer);
  const locks = createLocks(onClient);
  const lease = await locks.acquire('own', owner, { waitMs: 0 });
  expect(await elsewhere.tryAcquire('own', owner)).toBeNull();
  const listed = await Array.fromAsync(onClient.list?.('', AbortSignal.timeout(5_000)) ?? []);
  expect(listed).toMatchObject([{ key: 'own', held: true, record: { fence: lease.fence } }]);
  await lease.release();
  const held = await elsewhere.acquire('own', owner, { waitMs: 0 });
  const waiting = locks.acquire('own', owner, { waitMs: 10_000 });
  setTimeout(() => void held.release(), 300);
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(held.fence);
  await next.release();
  await locks[Symbol.asyncDispose]();
}

describeWith(redisPrograms, 'on Redis', async () => {
  const { url } = await startRedis();

  test('a client of node-redis', async () => {
    const client = await createClient({ url }).connect();
    await serves(redisLockStore(client), redisLockStore(url));
    expect(await client.ping()).toBe('PONG');
    client.destroy();
  });

  test('a client of ioredis', async () => {
    const client = new Redis(url);
    await serves(redisLockStore(client), redisLockStore(url));
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  test('a client of ioredis that puts a prefix before each key', async () => {
    const client = new Redis(url, { keyPrefix: 'app[1]*:' });
    await client.flushall();
    await serves(redisLockStore(client), redisLockStore(url, { prefix: 'app[1]*:payonce:locks:' }));
    client.disconnect();
  });

  test('a call on a client that cannot connect ends with its signal', async () => {
    const client = new Redis('redis://127.0.0.1:1', { maxRetriesPerRequest: null });
    client.on('error', () => {});
    await using store = redisLockStore(client);
    await expect(store.acquire('a', 'b', 1_000, AbortSignal.timeout(200))).rejects.toThrow(/timeout/i);
    client.disconnect();
  });

  test('on a server that may evict locks a client is refused', async () => {
    await using server = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
    const client = new Redis(server.url);
    const asked = redisLockStore(client).look('a', AbortSignal.timeout(5_000));
    await expect(asked).rejects.toThrow('maxmemory-policy');
    client.disconnect();
  });
});

describeWith(postgresPrograms, 'on PostgreSQL', async () => {
  const { url } = await startPostgres();

  test.each([
    ['rows', postgresLockStore],
    ['advisory locks', postgresAdvisoryLockStore],
  ])('a pool of pg for %s', async (_, open) => {
    const pool = new Pool({ connectionString: url });
    await serves(open(pool), open(url));
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    // The store has returned what it had borrowed.
    expect(pool.totalCount - pool.idleCount).toBe(0);
    await pool.end();
  });

  test('a pool that reads 64 bits as a number', async () => {
    const getTypeParser: typeof types.getTypeParser = (oid, format) =>
      oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format);
    const pool = new Pool({ connectionString: url, types: { getTypeParser } });
    await serves(postgresLockStore(pool), postgresLockStore(url));
    await serves(postgresAdvisoryLockStore(pool), postgresAdvisoryLockStore(url));
    await pool.end();
  });

  test('a pool of one connection serves those who wait, too', async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    await using held = createLocks(postgresLockStore(url));
    await using locks = createLocks(postgresLockStore(pool));
    const lease = await held.acquire('of one', owner, { waitMs: 0 });
    const waiting = locks.acquire('of one', owner, { waitMs: 20_000 });
    setTimeout(() => void lease.release(), 300);
    await (await waiting).release();
    await pool.end();
  });

  test('a pool that has no connection to lend ends a call with its signal, and loses none', async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    const only = await pool.connect();
    await using store = postgresLockStore(pool);
    await expect(store.look('a', AbortSignal.timeout(200))).rejects.toThrow(/timeout/i);
    only.release();
    expect(await store.look('nobody', AbortSignal.timeout(5_000))).toBeUndefined();
    await pool.end();
  });
});

describeWith(mariadbPrograms, 'on MariaDB', async () => {
  const { url } = await startMariadb();

  test('a pool of mysql2/promise', async () => {
    const pool = createPool(url);
    await serves(mysqlLockStore(pool), mysqlLockStore(url));
    expect(await pool.query('select 1 as one')).toMatchObject([[{ one: 1 }], [{}]]);
    await pool.end();
  });

  test('a pool that reads large numbers as texts', async () => {
    const pool = createPool({ uri: url, supportBigNumbers: true, bigNumberStrings: true });
    await serves(mysqlLockStore(pool), mysqlLockStore(url));
    await pool.end();
  });

  test('a pool of mysql2 with callbacks', async () => {
    const pool = mysql.createPool(url);
    await using store = mysqlLockStore(pool);
    expect(await store.look('nobody', AbortSignal.timeout(5_000))).toBeUndefined();
    pool.end();
  });

  test('a pool whose sessions commit nothing by themselves is refused', async () => {
    const pool = createPool(url);
    pool.on('connection', (connection) => void connection.query('set autocommit = 0'));
    await using store = mysqlLockStore(pool);
    await expect(store.look('a', AbortSignal.timeout(5_000))).rejects.toThrow('autocommit');
    await pool.end();
  });
});

const stores: Record<string, (address: object) => unknown> = {
  redisLockStore,
  postgresLockStore,
  postgresAdvisoryLockStore,
  mysqlLockStore,
};

// Plain JavaScript passes what the types refuse. None of these connects before it is used.
test.each<[string, object]>([
  ['redisLockStore', {}],
  ['redisLockStore', { sendCommand() {} }],
  ['postgresLockStore', new Client({ host: '10.1.2.3' })],
  ['postgresLockStore', { query() {} }],
  ['postgresAdvisoryLockStore', new Client({ host: '10.1.2.3' })],
  ['mysqlLockStore', { hostname: '10.1.2.3' }],
])('%s refuses what it does not know instead of asking localhost', (name, client) => {
  expect(() => stores[name]?.(client)).toThrow(TypeError);
});

test.each<[string, object]>([
  ['redisLockStore', createCluster({ rootNodes: [{ url: 'redis://10.1.2.3:5555' }] })],
  [
    'redisLockStore',
    createSentinel({ name: 'locks', sentinelRootNodes: [{ host: '10.1.2.3', port: 26_379 }] }),
  ],
  ['redisLockStore', new Cluster([{ host: '10.1.2.3' }], { lazyConnect: true })],
  [
    'redisLockStore',
    { url: 'redis://10.1.2.3', credentialsProvider: { type: 'async-credentials-provider' } },
  ],
  ['postgresLockStore', { host: '10.1.2.3', password: () => 'token' }],
  ['mysqlLockStore', { host: '10.1.2.3', password: () => 'token' }],
])('%s takes clients of clusters and sentinels, and options', (name, options) => {
  expect(stores[name]?.(options)).toBeDefined();
});

test('more replicas than a client of somebody else can answer for are refused', () => {
  expect(() => redisLockStore(new Redis({ lazyConnect: true }), { replicas: 1 })).toThrow(RangeError);
});
