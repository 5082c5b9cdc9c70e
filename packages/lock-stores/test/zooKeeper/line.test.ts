import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import type { Holding } from '../../../../test/support/startLockHolder.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { createLocks, type Lease, type LockStore } from '../../../leases/src/index.ts';
import { nodesOf, type WaiterNode } from '../../src/zooKeeper/lockNodes.ts';
import { readLine } from '../../src/zooKeeper/lockRequests.ts';
import { connectToZooKeeper } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';
import { getChildren } from '../../src/zooKeeper/zooKeeperRequests.ts';

const tickMs = 500;
const leaseMs = 8_000;
/** The session of a process that has waiters, a tick, and the time that a busy machine may take (ms). */
const placeEndsMs = 3_000 + tickMs + 3_000;
const root = '/payonce/locks';
const within = (ms: number) => AbortSignal.timeout(ms);
const holder = fileURLToPath(new URL('../../../../test/support/lockHolder.ts', import.meta.url));

describeWith(zooKeeperPrograms, 'the line of a lock on ZooKeeper', async () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  const server = opened.use(await startZooKeeper(tickMs, { '4lw.commands.whitelist': 'srvr,wchp' }));
  const at = { host: '127.0.0.1', port: server.port };
  const watching = await connectToZooKeeper(at, { timeoutMs: leaseMs, pings: true }, within(5_000));
  if (watching === 'expired') throw new Error('a new session has ended');
  opened.defer(watching.destroy);

  const storeAt = (port = server.port): LockStore =>
    opened.use(zooKeeperLockStore(`127.0.0.1:${port}`, { tickMs }));
  const locksOn = (store = storeAt()) => createLocks(store, { leaseSeconds: leaseMs / 1000 });
  const lineOf = (key: string): Promise<WaiterNode[]> =>
    readLine(nodesOf(root, key), watching, within(5_000));
  /** Starts to wait for the lock. Resolves once the waiter has its place, which is the last of `place`. */
  async function queue(key: string, place: number, locks = locksOn(), signal?: AbortSignal) {
    const options = { waitMs: 50_000, ...(signal && { signal }) };
    const lease: Promise<Lease> = locks.acquire(key, undefined, options);
    lease.catch(() => {});
    await expect.poll(async () => (await lineOf(key)).length, { interval: 5 }).toBe(place);
    return { lease };
  }

  test('gives it to those who wait in the order of asking, whatever comes in between', async () => {
    const key = randomUUID();
    const first = await locksOn().acquire(key, undefined, { waitMs: 10_000 });
    const clients = [locksOn(), locksOn()];
    const order: number[] = [];
    const turns: Promise<void>[] = [];
    for (let n = 0; n < 10; n++) {
      const { lease } = await queue(key, n + 1, clients[n % 2]);
      turns.push(
        lease.then(async (held) => {
          order.push(n);
          await held.release();
        }),
      );
    }
    let done = false;
    const passing = (async () => {
      const locks = locksOn();
      for (; !done; await new Promise((resolve) => setImmediate(resolve)))
        if ((await locks.tryAcquire(key)) !== null) return 'passed';
      return 'held';
    })();
    await first.release();
    await Promise.all(turns.slice(0, 9));
    done = true;
    await Promise.all(turns);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await passing).toBe('held');
  });

  /** The watched nodes of a lock, each as often as it has sessions that watch it. */
  async function watched(key: string): Promise<string[]> {
    const socket = connect(server.port, '127.0.0.1');
    socket.write('wchp');
    const { lock } = nodesOf(root, key);
    const [, ...paths] = `\n${await text(socket)}`.split(/\n(?=\/)/);
    return paths
      .map((path) => path.trim().split(/\s+/))
      .flatMap(([path = '', ...sessions]) => sessions.map(() => path))
      .filter((path) => path.startsWith(lock));
  }

  test('calls the first one only, when it is free; each other one watches the one before it', async () => {
    const holding = storeAt();
    const [key, leaseId] = [randomUUID(), randomUUID()];
    await holding.create(key, within(5_000));
    await holding.acquire(key, leaseId, leaseMs, within(5_000));
    const calls: number[] = [];
    for (let n = 0; n < 5; n++) {
      const store = storeAt();
      const waiter = await store.wait?.(key, within(5_000));
      if (waiter === undefined) throw new Error('the store wakes nobody');
      opened.use(waiter);
      const place = { ticket: waiter.ticket, keptMs: 20_000 };
      expect(await store.take?.(key, randomUUID(), { leaseMs, place }, within(5_000))).toBe('held');
      const end = new AbortController();
      opened.defer(() => end.abort());
      void waiter.called(end.signal).then(() => calls.push(n));
    }
    const { lease } = nodesOf(root, key);
    const before = [lease, ...(await lineOf(key)).map(({ path }) => path).slice(0, -1)];
    await expect.poll(async () => (await watched(key)).toSorted()).toEqual(before.toSorted());
    await holding.release(key, leaseId, within(5_000));
    await expect.poll(() => calls).toEqual([0]);
    // The others were told of nothing: a watch that has told is gone.
    expect(await watched(key)).toEqual(expect.arrayContaining(before.slice(1)));
    expect(calls).toEqual([0]);
  });

  test('passes a waiter that was killed, once its session has ended', async () => {
    const key = randomUUID();
    const first = await locksOn().acquire(key, undefined, { waitMs: 10_000 });
    const store = { kind: 'zooKeeper', connectString: server.address, tickMs } as const;
    const holding: Holding = { store, leaseMs, key, instance: 'killed' };
    const child = fork(holder, [JSON.stringify(holding)], { execArgv: [] });
    opened.defer(() => void child.kill('SIGKILL'));
    await expect.poll(async () => (await lineOf(key)).length).toBe(1);
    const { lease } = await queue(key, 2);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    const killedAt = performance.now();
    await first.release();
    // It does not wait, and so does not pass the place of the dead one.
    expect(await locksOn().tryAcquire(key)).toBeNull();
    const next = await lease;
    expect(next.fence).toBeGreaterThan(first.fence);
    expect(performance.now() - killedAt).toBeLessThan(placeEndsMs);
    expect(await lineOf(key)).toEqual([]);
    await next.release();
  });

  test('has no node of one who has given up, or got the lock', async () => {
    const key = randomUUID();
    const first = await locksOn().acquire(key, undefined, { waitMs: 10_000 });
    const giveUp = new AbortController();
    const aborted = await queue(key, 1, locksOn(), giveUp.signal);
    const late = locksOn().acquire(key, undefined, { waitMs: 500 });
    const next = await queue(key, 3);
    giveUp.abort(new Error('enough'));
    await expect(aborted.lease).rejects.toThrow('enough');
    await expect(late).rejects.toThrow(/lock/i);
    expect(await lineOf(key)).toHaveLength(1);
    await first.release();
    const held = await next.lease;
    expect(await watching.send(getChildren(nodesOf(root, key).lock), within(5_000))).toHaveLength(2);
    await held.release();
  });

  test('keeps a lock from being forgotten, and leaves nothing of it afterwards', async () => {
    const store = storeAt();
    const key = randomUUID();
    const { version } = await store.create(key, within(5_000));
    const waiter = await store.wait?.(key, within(5_000));
    const place = { ticket: waiter?.ticket ?? '', keptMs: 20_000 };
    const leaseId = randomUUID();
    await store.acquire(key, leaseId, leaseMs, within(5_000));
    expect(await store.take?.(key, randomUUID(), { leaseMs, place }, within(5_000))).toBe('held');
    await store.release(key, leaseId, within(5_000));
    expect(await store.forget?.(key, version, within(5_000))).toBe('held');
    await waiter?.[Symbol.asyncDispose]();
    expect(await store.forget?.(key, version, within(5_000))).toBe('forgotten');
    const names = await watching.send(getChildren(root), within(5_000));
    expect(names.filter((name) => name.includes(key))).toEqual([]);
  });

  test('has one whose connection was lost at its end, once the session of that has ended', async () => {
    await using proxy = await startTcpProxy({ port: server.port });
    const key = randomUUID();
    const first = await locksOn().acquire(key, undefined, { waitMs: 10_000 });
    const cut = await queue(key, 1, locksOn(storeAt(proxy.port)));
    const [before] = await lineOf(key);
    const other = await queue(key, 2);
    proxy.resetNow();
    await expect
      .poll(async () => (await lineOf(key)).findIndex(({ ticket }) => ticket === before?.ticket))
      .toBe(1);
    await first.release();
    const second = await other.lease;
    await second.release();
    const third = await cut.lease;
    expect(third.fence).toBeGreaterThan(second.fence);
    await third.release();
  });
});
