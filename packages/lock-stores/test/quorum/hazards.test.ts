import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import {
  keepsEverything,
  type RedisServerProcess,
  redisPrograms,
  startRedis,
} from '../../../../test/support/servers/redis.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { createLocks, type LockStore } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { never } from '../../../leases/src/testing/subject.ts';
import { quorumLockStore } from '../../src/quorum/quorumLockStore.ts';
import { redisLockStore } from '../../src/redis/redisLockStore.ts';

const leaseMs = 6_000;
const memberMs = 500;
/** So long that a cycle which waits for a member takes far longer than a busy machine needs for one that does not. */
const patientMemberMs = 5_000;
/** A lease that no renewal disturbs while a test restarts servers. */
const longSeconds = 30;
const [a, b] = [
  { instance: 'a', job: 'hazards' },
  { instance: 'b', job: 'hazards' },
];

/** Three masters, and a way to the third that can be cut. */
async function startMasters(settings?: readonly string[]) {
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => startRedis(settings)));
  if (first === undefined || second === undefined || third === undefined) throw new Error('too few');
  const proxy = await startTcpProxy({ port: third.port });
  return {
    first,
    second,
    third,
    all: [first, second, third].map(({ url }) => url),
    /** As one sees them that can be cut off from the third. */
    cuttable: [first.url, second.url, `redis://127.0.0.1:${proxy.port}`],
    /** Waits until nobody has the lock on any of the three, and cuts the third off. */
    async cut() {
      for (const { url } of [first, second, third]) {
        await using store = redisLockStore(url);
        await until(
          () => store.look('key', never),
          (view) => view?.held !== true,
        );
      }
      proxy.fault({ kind: 'blackHole' });
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await Promise.all([first, second, third].map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

function processOn(urls: readonly string[], leaseSeconds = leaseMs / 1000, waitMs = memberMs) {
  const store = quorumLockStore(
    urls.map((url) => redisLockStore(url)),
    { memberMs: waitMs },
  );
  const locks = createLocks(store, { clock: systemClock, telemetry: noTelemetry, leaseSeconds });
  return { store, locks, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** Redlock as it is usually written: the same SET on every master, and a majority wins. */
async function naiveRedlock(urls: readonly string[], owner: string): Promise<boolean> {
  const taken = await Promise.all(
    urls.map(async (url) => {
      const client = createClient({ url, socket: { reconnectStrategy: false } });
      client.on('error', () => {});
      try {
        await client.connect();
        const set = client.set('lock', owner, {
          condition: 'NX',
          expiration: { type: 'PX', value: leaseMs },
        });
        return (await set) === 'OK';
      } catch {
        return false;
      } finally {
        client.destroy();
      }
    }),
  );
  return taken.filter(Boolean).length > urls.length / 2;
}

async function startAnew(server: RedisServerProcess): Promise<void> {
  await server.kill();
  await server.start();
}

describeWith(redisPrograms, 'hazards of a quorum', () => {
  test.concurrent('with Redlock, one master that comes back empty lets a second holder in; here it has no vote until it is up to date', async () => {
    await using masters = await startMasters();
    expect(await naiveRedlock([...masters.all.slice(0, 2), 'redis://127.0.0.1:1'], 'a')).toBe(true);
    await startAnew(masters.second);
    // Both hold it now, for seconds.
    expect(await naiveRedlock(masters.all, 'b')).toBe(true);

    await using first = processOn(masters.cuttable, longSeconds);
    await using second = processOn(masters.all, longSeconds);
    await masters.cut();
    await using lease = await first.locks.acquire('key', a, { waitMs: 10_000 });
    await startAnew(masters.second);
    expect(await second.locks.tryAcquire('key', b)).toBeNull();
    expect(await second.store.acquire('key', randomUUID(), leaseMs, never)).toBe('held');
    lease.assertHeld();
  });

  test.concurrent('a master that comes back with an older copy lets a second holder in; with appendfsync always it does not', async () => {
    for (const settings of [['--save', '3600 1'], keepsEverything]) {
      await using masters = await startMasters(settings);
      await using first = processOn(masters.cuttable, longSeconds);
      await using second = processOn(masters.all, longSeconds);
      await (await first.locks.acquire('key', b, { waitMs: 10_000 })).release();
      await masters.cut();
      const admin = createClient({ url: masters.second.url });
      await admin.connect();
      await admin.sendCommand(['SAVE']);
      admin.destroy();
      await using lease = await first.locks.acquire('key', a, { waitMs: 10_000 });
      await startAnew(masters.second);
      await using next = await second.locks.tryAcquire('key', b);
      lease.assertHeld();
      expect(next === null).toBe(settings === keepsEverything);
    }
  });

  test.concurrent('a master that comes back empty is brought up to date by the holder, and then a quorum needs no other', async () => {
    await using masters = await startMasters();
    await using ours = processOn(masters.all);
    const lease = await ours.locks.acquire('key', a, { waitMs: 10_000 });
    await startAnew(masters.second);
    await using empty = redisLockStore(masters.second.url);
    await until(
      () => empty.look('key', never),
      (view) => view?.held === true && view.record?.fence === lease.fence,
    );
    await masters.first.kill();
    lease.assertHeld();
    await lease.release();
    const next = await ours.locks.acquire('key', b, { waitMs: 20_000 });
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test.concurrent('fences rise, whichever majority answers', async () => {
    await using masters = await startMasters(keepsEverything);
    await using ours = processOn(masters.all);
    const fences: number[] = [];
    for (const away of [masters.first, masters.second, masters.third, masters.first]) {
      await away.kill();
      const lease = await ours.locks.acquire('key', a, { waitMs: 20_000 });
      fences.push(lease.fence);
      await lease.release();
      await away.start();
    }
    expect(fences).toEqual(fences.toSorted((x, y) => x - y));
    expect(new Set(fences).size).toBe(fences.length);
  });

  test.concurrent('a frozen or slow minority does not delay a lock that the majority knows', async () => {
    await using masters = await startMasters();
    await using proxy = await startTcpProxy({ port: masters.third.port });
    const urls = [...masters.all.slice(0, 2), `redis://127.0.0.1:${proxy.port}`];
    await using ours = processOn(urls, 60, patientMemberMs);
    const cycle = async () => {
      const startedAt = performance.now();
      await (await ours.locks.acquire('key', a, { waitMs: 20_000 })).release();
      return performance.now() - startedAt;
    };
    await cycle();
    for (const disturb of [
      async () => proxy.fault({ kind: 'slowSuccess', ms: 2 * patientMemberMs }),
      () => masters.third.freeze(),
    ]) {
      await disturb();
      const times: number[] = [];
      for (let i = 0; i < 9; i++) times.push(await cycle());
      // Six requests, of which each would take `patientMemberMs` if it waited.
      expect(times.toSorted((x, y) => x - y)[4]).toBeLessThan(patientMemberMs);
    }
    masters.third.thaw();
  });

  test.concurrent('of several that ask at once exactly one gets the lock, even if the masters hear them in different orders', async () => {
    await using masters = await startMasters();
    const candidates = Array.from({ length: 6 }, () =>
      quorumLockStore(
        masters.all.map((url) => late(redisLockStore(url))),
        { memberMs: 5_000 },
      ),
    );
    const winners: number[] = [];
    for (let round = 0; round < 20; round++) {
      const key = randomUUID();
      await candidates[0]?.create(key, never);
      const answers = await Promise.all(
        candidates.map((store) => store.acquire(key, randomUUID(), leaseMs, never)),
      );
      winners.push(answers.filter((answer) => answer === 'acquired').length);
    }
    for (const store of candidates) await store[Symbol.asyncDispose]();
    expect(new Set(winners)).toEqual(new Set([1]));
  });
});

/** A store whose requests to acquire leave a little later, at random. */
function late(store: LockStore): LockStore {
  return {
    ...store,
    async acquire(...request) {
      await systemClock.sleep(Math.random() * 10);
      return store.acquire(...request);
    },
  };
}
