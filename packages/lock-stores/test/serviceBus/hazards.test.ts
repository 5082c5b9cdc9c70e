import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient, type ServiceBusClientOptions } from '@azure/service-bus';
import { afterAll, describe, expect, test } from 'vitest';
import { loseSession, queuesFile } from '../../../../test/support/lockSessions.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { startTcpProxy, type TcpProxy } from '../../../../test/support/tcpProxy.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import type { LockRecord, LockStore } from '../../../leases/src/index.ts';
import { never, one, two } from '../../../leases/src/testing/subject.ts';
import { startServiceBus } from '../../../local-azure/src/serviceBus/index.ts';
import { serviceBusLockStore } from '../../src/serviceBus/serviceBusLockStore.ts';

/** Queues with a LockDuration of 30 s and of 3 s. */
const long = { queue: 'long', lockDurationMs: 30_000 };
const short = { queue: 'short', lockDurationMs: 3_000 };

const folder = await mkdtemp(join(tmpdir(), 'service-bus-hazards-'));
const config = await queuesFile(folder, {
  [long.queue]: { RequiresSession: true, LockDuration: 'PT30S' },
  [short.queue]: { RequiresSession: true, LockDuration: 'PT3S' },
  plain: {},
});
const bus = await startServiceBus({ config });
const open = new AsyncDisposableStack();

function openStore({ queue, lockDurationMs } = long, port = bus.port): LockStore {
  const address = bus.connectionString.replace(`:${bus.port};`, `:${port};`);
  const connect = (options: ServiceBusClientOptions) => new ServiceBusClient(address, options);
  return open.use(serviceBusLockStore(connect, queue, { lockDurationMs }));
}

/** The bare SDK. */
function openClient(port = bus.port): ServiceBusClient {
  const client = new ServiceBusClient(bus.connectionString.replace(`:${bus.port};`, `:${port};`));
  open.defer(() => client.close());
  return client;
}

/** A store behind a network that can fail. */
async function behindProxy(kind = long): Promise<TcpProxy & { store: LockStore }> {
  const proxy = await startTcpProxy({ port: bus.port });
  return { ...proxy, store: openStore(kind, proxy.port) };
}

const other = openStore();
const record = (fence: number): LockRecord => ({
  fence,
  owner: { instance: 'web-1', job: 'hazards' },
  since: Date.UTC(2026, 0, 1),
  leaseMs: long.lockDurationMs,
});

afterAll(async () => {
  await open.disposeAsync();
  await bus.stop();
  await removeFolder(folder);
});

test('a holder that has lost its session without noticing cannot move the fence', async () => {
  await using stale = await behindProxy();
  const key = randomUUID();
  await stale.store.acquire(key, one, 30_000, never);
  const seen = await stale.store.look(key, never);
  // From now on all that the broker sends arrives late, the loss of the session included.
  stale.fault({ kind: 'slowSuccess', ms: 2_000 });
  await loseSession(bus, key);
  expect(await other.acquire(key, two, 30_000, never)).toBe('acquired');
  const fresh = await other.look(key, never);
  expect(await other.raise(key, two, record(6), fresh?.version ?? '', never)).toBe('raised');

  const late = stale.store.raise(key, one, record(5), seen?.version ?? '', never);
  expect(await late).toMatchObject({ kind: 'refused', reason: 'taken' });
  await other.release(key, two, never);
  await other.acquire(key, one, 30_000, never);
  expect((await other.look(key, never))?.record?.fence).toBe(6);
});

describe('the SDK renews a session by itself', () => {
  const outlasts = short.lockDurationMs + 1_500;

  test('so with its defaults a holder that hangs still has the lock', async () => {
    const key = randomUUID();
    await openClient().acceptSession(short.queue, key);
    await systemClock.sleep(outlasts);
    await expect(openClient().acceptSession(short.queue, key)).rejects.toMatchObject({
      code: 'SessionCannotBeLocked',
    });
  });

  test('but not a lease', async () => {
    const key = randomUUID();
    await openStore(short).acquire(key, one, 3_000, never);
    await systemClock.sleep(outlasts);
    expect(await openStore(short).acquire(key, two, 3_000, never)).toBe('acquired');
  });
});

test('a queue with another LockDuration is refused, and the session is free again', async () => {
  const key = randomUUID();
  for (const lockDurationMs of [1_000, 30_000]) {
    const mistaken = openStore({ queue: short.queue, lockDurationMs });
    await expect(mistaken.acquire(key, one, lockDurationMs, never)).rejects.toThrow(
      /^The session is locked for 3 s instead of (1|30) s: the queue has another LockDuration/,
    );
  }
  const right = openStore(short);
  await expect.poll(() => right.acquire(key, two, 3_000, never), { timeout: 2_000 }).toBe('acquired');
});

test.each([
  ['a queue that does not exist', 'nowhere'],
  ['a queue without sessions', 'plain'],
])('%s is an error, though the SDK says that its sessions are taken', async (_, queue) => {
  await expect(openClient().acceptSession(queue, 'a')).rejects.toMatchObject({
    code: 'SessionCannotBeLocked',
  });
  const misled = openStore({ queue, lockDurationMs: 30_000 });
  await expect(misled.acquire('a', one, 30_000, never)).rejects.toThrow(`no session of the queue "${queue}"`);
});

test.each([0, 500, 1_500, 301_000])('a LockDuration of %i ms is refused', (lockDurationMs) => {
  expect(() => serviceBusLockStore(() => openClient(), 'q', { lockDurationMs })).toThrow(RangeError);
});

describe('a client that falls silent', () => {
  test('loses its session when the LockDuration is over, and not before', async () => {
    await using silent = await behindProxy(short);
    const key = randomUUID();
    await silent.store.acquire(key, one, 3_000, never);
    const sentAt = performance.now();
    expect(await silent.store.renew(key, one, 3_000, never)).toBe('renewed');
    silent.fault({ kind: 'blackHole' });
    const next = openStore(short);
    await expect.poll(() => next.acquire(key, two, 3_000, never), { timeout: 15_000 }).toBe('acquired');
    expect(performance.now() - sentAt).toBeGreaterThan(2_950);
  });

  test('can lock again on a new connection, though its old one never says a word', async () => {
    await using silent = await behindProxy(short);
    const key = randomUUID();
    await silent.store.acquire(key, one, 3_000, never);
    silent.fault({ kind: 'blackHole' });
    const giveUp = AbortSignal.timeout(300);
    await expect(silent.store.renew(key, one, 3_000, giveUp)).rejects.toThrow('timeout');
    silent.fault({ kind: 'none' });
    const again = () => silent.store.acquire(key, two, 3_000, AbortSignal.timeout(2_000)).catch(String);
    await expect.poll(again, { timeout: 15_000 }).toBe('acquired');
    expect(await silent.store.renew(key, one, 3_000, never)).toMatchObject({ kind: 'refused' });
    expect(await silent.store.renew(key, two, 3_000, never)).toBe('renewed');
  });

  test('learns nothing, and every call on its session ends with the signal', async () => {
    await using silent = await behindProxy();
    const { store } = silent;
    const key = randomUUID();
    await store.acquire(key, one, 30_000, never);
    const version = (await store.look(key, never))?.version ?? '';
    const another = randomUUID();
    await store.acquire(another, one, 30_000, never);
    silent.fault({ kind: 'hold' });
    const calls: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
      renew: (signal) => store.renew(key, one, 30_000, signal),
      'acquire again': (signal) => store.acquire(key, one, 30_000, signal),
      'look at a state that was never read': (signal) => store.look(another, signal),
      raise: (signal) => store.raise(key, one, record(1), version, signal),
      release: (signal) => store.release(another, one, signal),
      'acquire another': (signal) => store.acquire(randomUUID(), one, 30_000, signal),
    };
    for (const [name, call] of Object.entries(calls)) {
      const startedAt = performance.now();
      await expect(call(AbortSignal.timeout(300)), name).rejects.toThrow('timeout');
      expect(performance.now() - startedAt, name).toBeLessThan(3_000);
    }
    silent.fault({ kind: 'none' });
    expect(await store.renew(key, one, 30_000, never)).toBe('renewed');
  });
});

test('a holder whose connection is lost learns it at once; others wait for the LockDuration', async () => {
  await using cut = await behindProxy(short);
  const key = randomUUID();
  const acquiredAt = performance.now();
  await cut.store.acquire(key, one, 3_000, never);
  cut.resetNow();
  const next = openStore(short);
  await expect
    .poll(() => cut.store.renew(key, one, 3_000, AbortSignal.timeout(500)).catch(String), { timeout: 5_000 })
    .toMatchObject({ kind: 'refused', reason: 'taken' });
  await expect.poll(() => next.acquire(key, two, 3_000, never), { timeout: 15_000 }).toBe('acquired');
  expect(performance.now() - acquiredAt).toBeGreaterThan(2_950);
  // And its client connects anew.
  expect(await cut.store.acquire(randomUUID(), one, 3_000, never)).toBe('acquired');
});

describe('an acquire that was aborted', () => {
  test('while connecting is not sent later', async () => {
    await using slow = await behindProxy();
    const key = randomUUID();
    slow.fault({ kind: 'hold' });
    await expect(slow.store.acquire(key, one, 30_000, AbortSignal.timeout(300))).rejects.toThrow('timeout');
    slow.fault({ kind: 'none' });
    expect(await slow.store.acquire(randomUUID(), one, 30_000, never)).toBe('acquired');
    expect(await other.acquire(key, two, 30_000, never)).toBe('acquired');
  });

  test.each([200, 300, 400, 500, 700, 900])(
    'after %i ms, with answers that take 150 ms each, leaves no session locked',
    async (giveUpMs) => {
      await using slow = await behindProxy();
      const key = randomUUID();
      slow.fault({ kind: 'slowSuccess', ms: 150 });
      const outcome = await slow.store
        .acquire(key, one, 30_000, AbortSignal.timeout(giveUpMs))
        .catch(() => 'aborted');
      if (outcome === 'acquired') await slow.store.release(key, one, never);
      await expect.poll(() => other.acquire(key, two, 30_000, never), { timeout: 5_000 }).toBe('acquired');
    },
  );
});
