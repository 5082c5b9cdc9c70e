import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { keepsEverything, redisPrograms, startRedis } from '../../../../test/support/servers/redis.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { createLocks, type LockStore, LockStoreFailed } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { never } from '../../../leases/src/testing/subject.ts';
import { redisKeys } from '../../src/redis/redisKeys.ts';
import { type RedisLockOptions, redisLockStore } from '../../src/redis/redisLockStore.ts';

const leaseMs = 4_000;
/** A lease that no renewal disturbs while a test restarts servers. */
const longSeconds = 30;
const [a, b] = [
  { instance: 'a', job: 'hazards' },
  { instance: 'b', job: 'hazards' },
];
/** Where the fence is checked: it refuses a token that is smaller than one it has seen. */
function resource() {
  let seen = 0;
  return {
    accepts(fence: number): boolean {
      if (fence < seen) return false;
      seen = fence;
      return true;
    },
  };
}

/** A process with leases on the server, and how to end it. */
function processOn(url: string, options: RedisLockOptions = {}, leaseSeconds = leaseMs / 1000) {
  const store = redisLockStore(url, options);
  const locks = createLocks(store, { clock: systemClock, telemetry: noTelemetry, leaseSeconds });
  return { store, locks, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

async function bareClient(url: string) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return Object.assign(client, { [Symbol.dispose]: () => client.destroy() });
}

/** Without it a primary waits 5 s for more replicas before it sends its data to the first. */
const atOnce = ['--repl-diskless-sync-delay', '0'];

describeWith(redisPrograms, 'hazards of Redis', async () => {
  const server = await startRedis();
  const bare = createClient({ url: server.url });
  beforeAll(() => bare.connect());
  afterAll(async () => {
    bare.destroy();
    await server[Symbol.asyncDispose]();
  });

  test.concurrent('an INCR of the fence before the SET fences out the holder', async () => {
    const lock = async (name: string) => {
      const fence = await bare.incr('naive:fence');
      return {
        fence,
        locked: await bare.set('naive', name, {
          condition: 'NX',
          expiration: { type: 'PX', value: leaseMs },
        }),
      };
    };
    const naive = resource();
    // A has its number and is slow to lock; B locks, writes and is done.
    const fenceOfA = await bare.incr('naive:fence');
    const tenureOfB = await lock('b');
    expect(naive.accepts(tenureOfB.fence)).toBe(true);
    await bare.del('naive');
    expect(await bare.set('naive', 'a', { condition: 'NX' })).toBe('OK');
    expect(naive.accepts(fenceOfA)).toBe(false);

    await using first = processOn(server.url);
    await using second = processOn(server.url);
    const ours = resource();
    const key = randomUUID();
    await Promise.all(
      [first, second, first, second].map(async ({ locks }) => {
        for (let i = 0; i < 10; i++) {
          await using lease = await locks.acquire(key, a, { waitMs: 30_000 });
          expect(ours.accepts(lease.fence)).toBe(true);
        }
      }),
    );
  });

  test.concurrent('a renewal or release that does not compare the owner takes the lock from the next one', async () => {
    const expiration = { type: 'PX', value: leaseMs } as const;
    // The lease of A has run out, and B has the lock.
    await bare.set('unowned', 'b', { condition: 'NX', expiration });
    expect(await bare.set('unowned', 'a', { condition: 'XX', expiration })).toBe('OK');
    expect(await bare.get('unowned')).toBe('a');
    expect(await bare.pExpire('unowned', leaseMs)).toBe(1);
    expect(await bare.del('unowned')).toBe(1);

    await using ours = processOn(server.url);
    const { store } = ours;
    const [key, leaseOfA, leaseOfB] = [randomUUID(), randomUUID(), randomUUID()];
    await store.create(key, never);
    await store.acquire(key, leaseOfB, leaseMs, never);
    expect(await store.renew(key, leaseOfA, leaseMs, never)).toMatchObject({ kind: 'refused' });
    expect(await store.release(key, leaseOfA, never)).toBe('gone');
    expect(await bare.get(redisKeys('payonce:locks:', key).lease)).toBe(leaseOfB);
  });

  test.concurrent('a server that was started anew without its data lets a second holder in, with a higher fence; with appendfsync always it does not', async () => {
    for (const keeps of [false, true]) {
      await using own = await startRedis(...(keeps ? [keepsEverything] : []));
      await using first = processOn(own.url, {}, longSeconds);
      await using second = processOn(own.url, {}, longSeconds);
      const lease = await first.locks.acquire('key', a, { waitMs: 10_000 });
      // Fences begin at the Unix time in seconds.
      await systemClock.sleep(1_100);
      await own.kill();
      await own.start();
      const next = await second.locks.tryAcquire('key', b);
      expect(next === null).toBe(keeps);
      if (next !== null) {
        lease.assertHeld();
        expect(next.fence).toBeGreaterThan(lease.fence);
        await until(
          async () => lease.lost?.reason,
          (reason) => reason === 'taken',
        );
      }
    }
  });

  test.concurrent('a failover lets a second holder in, with a higher fence; with replicas: 1 it does not, and nobody gets the lock without the replica', async () => {
    for (const replicas of [0, 1]) {
      await using primary = await startRedis([...keepsEverything, ...atOnce]);
      await using replica = await startRedis([
        ...keepsEverything,
        '--replicaof',
        '127.0.0.1',
        String(primary.port),
      ]);
      using onReplica = await bareClient(replica.url);
      await until(
        () => onReplica.info('replication'),
        (info) => info.includes('master_link_status:up'),
      );
      await using first = processOn(primary.url, { replicas, waitMs: 200 }, longSeconds);
      const before = await first.locks.acquire('key', a, { waitMs: 20_000 });
      await before.release();
      const { record, lease: leaseKey } = redisKeys('payonce:locks:', 'key');
      await until(
        () => onReplica.hGet(record, 'record'),
        (written) => written?.includes(`"fence":${before.fence}`) === true,
      );
      await until(
        () => onReplica.exists(leaseKey),
        (leases) => leases === 0,
      );

      await replica.kill();
      const cutOff = first.locks.tryAcquire('key', a);
      if (replicas === 1) {
        await expect(cutOff).rejects.toThrow(LockStoreFailed);
        await expect(cutOff).rejects.toThrow('0 of 1 replicas acknowledged the change within 200 ms');
      }
      const lease = await cutOff.catch(() => null);
      await primary.kill();
      await replica.start();
      using promoted = await bareClient(replica.url);
      await promoted.sendCommand(['REPLICAOF', 'NO', 'ONE']);

      await using second = processOn(replica.url, {}, longSeconds);
      const next = await second.locks.acquire('key', b, { waitMs: 20_000 });
      lease?.assertHeld();
      expect(next.fence).toBeGreaterThan((lease ?? before).fence);
    }
  });

  test.concurrent('with replicas: 1 a failover keeps the lease and its fence', async () => {
    await using primary = await startRedis(atOnce);
    await using replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);
    using onReplica = await bareClient(replica.url);
    await until(
      () => onReplica.info('replication'),
      (info) => info.includes('master_link_status:up'),
    );
    await using first = processOn(primary.url, { replicas: 1 });
    const lease = await first.locks.acquire('key', a, { waitMs: 20_000 });
    await primary.kill();
    await onReplica.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    await using second = processOn(replica.url);
    expect(await second.locks.tryAcquire('key', b)).toBeNull();
    const next = await second.locks.acquire('key', b, { waitMs: 20_000 });
    expect(lease.lost?.reason).toBe('unreachable');
    expect(next.fence).toBeGreaterThan(lease.fence);
  });

  test.concurrent('under memory pressure a server that may evict drops leases, so none is taken there', async () => {
    await using small = await startRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'volatile-lru']);
    using client = await bareClient(small.url);
    await client.set('lease', 'a', { condition: 'NX', expiration: { type: 'PX', value: 3_600_000 } });
    for (let i = 0; i < 400; i++) await client.set(`other:${i}`, 'x'.repeat(10_000)).catch(() => {});
    expect(await client.exists('lease')).toBe(0);
    await using ours = processOn(small.url);
    await expect(ours.locks.tryAcquire('key', a)).rejects.toThrow(
      'Redis may evict locks: its maxmemory-policy is volatile-lru; set it to noeviction',
    );
  });

  test.concurrent('without eviction a full server refuses new leases, and renews and ends those that it has', async () => {
    await using small = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'noeviction']);
    using client = await bareClient(small.url);
    await using ours = processOn(small.url);
    const { store } = ours;
    const lease = randomUUID();
    for (const key of ['held', 'free']) await store.create(key, never);
    expect(await store.acquire('held', lease, leaseMs, never)).toBe('acquired');
    await client.configSet('maxmemory', '1mb');
    await expect(store.acquire('free', lease, leaseMs, never)).rejects.toThrow('OOM');
    expect(await store.renew('held', lease, leaseMs, never)).toBe('renewed');
    expect(await store.release('held', lease, never)).toBe('released');
  });

  test.concurrent('a request that was aborted while there was no connection is never sent', async () => {
    await using own = await startRedis(keepsEverything);
    await using ours = processOn(own.url);
    await ours.store.create('key', never);
    const acquire = () => ours.store.acquire('key', randomUUID(), leaseMs, AbortSignal.timeout(300));
    await own.kill();
    await expect(acquire()).rejects.toThrow(Error);
    await own.start();
    await own.freeze();
    // This one reaches a server that accepts the connection and goes no further.
    await expect(acquire()).rejects.toThrow(Error);
    own.thaw();
    await until(
      () => ours.store.look('key', never).catch(() => undefined),
      (view) => view !== undefined,
    );
    await systemClock.sleep(500);
    expect(await ours.store.look('key', never)).toMatchObject({ held: false });
  });

  test.concurrent('a connection that swallows everything is replaced in time to keep a short lease', async () => {
    await using own = await startRedis();
    await using network = await startTcpProxy({ port: own.port });
    await using inner = redisLockStore(`redis://127.0.0.1:${network.port}`);
    const renewals: unknown[] = [];
    const store: LockStore = {
      ...inner,
      async renew(...request) {
        try {
          const outcome = await inner.renew(...request);
          renewals.push(outcome);
          return outcome;
        } catch (error) {
          renewals.push('no answer');
          // Connections that have lost nothing work again.
          network.fault({ kind: 'none' });
          throw error;
        }
      },
    };
    const lease = await createLocks(store, { leaseSeconds: 12 }).acquire('key', a, { waitMs: 10_000 });
    network.fault({ kind: 'blackHole' });
    await expect.poll(() => renewals.length, { timeout: 30_000 }).toBeGreaterThan(2);
    expect(renewals.slice(0, 2)).toEqual(['no answer', 'renewed']);
    lease.assertHeld();
    await lease.release();
  });

  test.concurrent('a release that was aborted on a frozen server comes after the acquire that was aborted before it', async () => {
    await using own = await startRedis();
    await using ours = processOn(own.url);
    await ours.store.create('key', never);
    const lease = randomUUID();
    await own.freeze();
    await expect(ours.store.acquire('key', lease, leaseMs, AbortSignal.timeout(300))).rejects.toThrow(Error);
    await expect(ours.store.release('key', lease, AbortSignal.timeout(300))).rejects.toThrow(Error);
    own.thaw();
    expect(await ours.store.look('key', never)).toMatchObject({ held: false });
  });

  test.concurrent('a primary that was made a replica is left, and the next call asks its successor', async () => {
    await using old = await startRedis();
    await using successor = await startRedis();
    using client = await bareClient(old.url);
    const name = { port: old.port };
    await using proxy = await startTcpProxy(name);
    await using ours = processOn(`redis://127.0.0.1:${proxy.port}`);
    await (await ours.locks.acquire('key', a, { waitMs: 10_000 })).release();
    await client.replicaOf('127.0.0.1', successor.port);
    name.port = successor.port;
    const lease = await ours.locks.acquire('key', a, { waitMs: 10_000 });
    using onSuccessor = await bareClient(successor.url);
    expect(await onSuccessor.exists(redisKeys('payonce:locks:', 'key').lease)).toBe(1);
    await lease.release();
  });

  test.concurrent('where a user may not subscribe, waiters leave no connections behind', async () => {
    await using own = await startRedis();
    using admin = await bareClient(own.url);
    await admin.aclSetUser('deaf', ['on', '>deaf', '~*', '+@all', 'resetchannels']);
    const url = own.url.replace('//', '//deaf:deaf@');
    const nodeRedis = await createClient({ url }).connect();
    const ioRedis = new Redis(url);
    for (const address of [url, nodeRedis, ioRedis]) {
      await using store = redisLockStore(address);
      await store.create('key', never);
      const before = (await admin.clientList()).length;
      for (let looks = 0; looks < 5; looks++)
        await expect(store.wait?.('key', never)).rejects.toThrow('NOPERM');
      await until(
        () => admin.clientList(),
        (clients) => clients.length <= before,
      );
    }
    nodeRedis.destroy();
    ioRedis.disconnect();
  });

  test.concurrent('a connection that went silent is replaced after ten seconds', async () => {
    await using proxy = await startTcpProxy({ port: server.port });
    await using ours = processOn(`redis://127.0.0.1:${proxy.port}`);
    const key = randomUUID();
    await ours.store.create(key, never);
    proxy.fault({ kind: 'blackHole' });
    await expect(ours.store.look(key, AbortSignal.timeout(500))).rejects.toThrow(Error);
    // The way is open again, but what was lost on this connection stays lost.
    proxy.fault({ kind: 'none' });
    const silentSince = performance.now();
    await until(
      () => ours.store.look(key, AbortSignal.timeout(500)).catch(() => undefined),
      (view) => view !== undefined,
    );
    expect(performance.now() - silentSince).toBeGreaterThan(9_000);
  });
});
