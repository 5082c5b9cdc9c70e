import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import {
  startZooKeeper,
  startZooKeeperEnsemble,
  type ZooKeeperMember,
  zooKeeperPrograms,
} from '../../../../test/support/servers/zooKeeper.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { createLocks } from '../../../leases/src/index.ts';
import { noTelemetry } from '../../../leases/src/telemetry.ts';
import { nodesOf } from '../../src/zooKeeper/lockNodes.ts';
import { connectToZooKeeper, type ZooKeeperConnection } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';
import {
  check,
  createNode,
  existsNode,
  getData,
  multi,
  remove,
  setData,
  type ZooKeeperOperation,
} from '../../src/zooKeeper/zooKeeperRequests.ts';

const tickMs = 500;
const root = '/payonce/locks';
const owner = { instance: 'web-1', job: 'hazards' };
const within = (ms: number) => AbortSignal.timeout(ms);
const storeAt = (...servers: string[]) => zooKeeperLockStore(servers.join(','), { tickMs });
const locksOn = (store: ReturnType<typeof storeAt>, leaseSeconds: number) =>
  createLocks(store, { clock: systemClock, telemetry: noTelemetry, leaseSeconds });

/** A plain client: a session, and requests on its connection. */
async function plain(port: number, timeoutMs: number, pings = false): Promise<ZooKeeperConnection> {
  const at = { host: '127.0.0.1', port };
  const connection = await connectToZooKeeper(at, { timeoutMs, pings }, within(10_000));
  if (connection === 'expired') throw new Error('a new session has ended');
  return connection;
}

async function run(connection: ZooKeeperConnection, ...operations: ZooKeeperOperation[]): Promise<void> {
  const answer = await connection.send(multi(operations), within(10_000));
  if (answer.kind === 'refused') throw new Error(`refused: ${answer.code}`);
}

/** When the node was first seen to be gone, on the monotonic clock. The server may serve nobody for a while. */
async function goneAt(port: number, path: string): Promise<number> {
  let watching: ZooKeeperConnection | undefined;
  for (let there = true; there; await systemClock.sleep(50)) {
    try {
      if (watching?.isOpen() !== true) watching = await plain(port, 2 * tickMs);
      there = (await watching.send(existsNode(path), within(10_000))) !== undefined;
    } catch {
      // Ask again.
    }
  }
  watching?.destroy();
  return performance.now();
}

/** The leader, and two followers. */
async function byRole(members: readonly ZooKeeperMember[]) {
  const modes = await Promise.all(members.map(({ server }) => server.mode()));
  const leader = members[modes.indexOf('leader')];
  const [first, second] = members.filter((member) => member !== leader);
  if (leader === undefined || first === undefined || second === undefined) throw new Error('no leader');
  return [leader, first, second] as const;
}

describeWith(zooKeeperPrograms, 'hazards of ZooKeeper', () => {
  describe('of a single server', async () => {
    const server = await startZooKeeper(tickMs);
    const store = storeAt(server.address);
    afterAll(async () => {
      await store[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });

    test('a session of more than 20 ticks is shortened silently: such a lease is refused', async () => {
      const naive = await plain(server.port, 30_000);
      expect(naive.session.timeoutMs).toBe(20 * tickMs);
      naive.destroy();
      const key = randomUUID();
      await store.create(key, within(5_000));
      const asked = store.acquire(key, randomUUID(), 30_000, within(5_000));
      await expect(asked).rejects.toThrow(/10000 ms, not 30000 ms.*tickTime/);
      expect((await store.look(key, within(5_000)))?.held).toBe(false);
    });

    test('a client that is cut off does not learn that its session has ended: a lease counts its own time', async () => {
      const leaseMs = 3_000;
      await using proxy = await startTcpProxy({ port: server.port });
      const naive = await plain(proxy.port, leaseMs);
      await using holding = storeAt(`127.0.0.1:${proxy.port}`);
      const key = randomUUID();
      const lease = await locksOn(holding, leaseMs / 1000).acquire(key, owner, { waitMs: 10_000 });
      let signalledAt = Number.POSITIVE_INFINITY;
      lease.signal.addEventListener('abort', () => (signalledAt = performance.now()));
      proxy.fault({ kind: 'hold' });
      const next = await locksOn(store, leaseMs / 1000).acquire(key, owner, { waitMs: 30_000 });
      expect(performance.now()).toBeGreaterThan(signalledAt);
      expect(naive.isOpen()).toBe(true);
      expect(lease.lost?.reason).toBe('unreachable');
      expect(next.fence).toBeGreaterThan(lease.fence);
      await next.release();
      naive.destroy();
    });

    test('a lost connection does not end a session: the lease goes on in it, a new session would be refused', async () => {
      const leaseMs = 3_000;
      await using proxy = await startTcpProxy({ port: server.port });
      await using holding = storeAt(`127.0.0.1:${proxy.port}`);
      const key = randomUUID();
      const lease = await locksOn(holding, leaseMs / 1000).acquire(key, owner, { waitMs: 10_000 });
      for (let losses = 0; losses < 8; losses++) {
        proxy.resetNow();
        const fresh = await plain(server.port, leaseMs);
        const again = run(fresh, createNode(nodesOf(root, key).lease, 'web-1', 'with the session'));
        await expect(again).rejects.toThrow('refused');
        fresh.destroy();
        await systemClock.sleep(leaseMs / 5);
      }
      lease.assertHeld();
      await lease.release();
      expect((await store.look(key, within(5_000)))?.held).toBe(false);
    });

    test('a session that lives proves nothing once somebody deleted its node: each write checks the tenure, too', async () => {
      const leaseMs = 5_000;
      const [key, leaseId] = [randomUUID(), randomUUID()];
      const nodes = nodesOf(root, key);
      const { version } = await store.create(key, within(5_000));
      expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
      const other = await plain(server.port, leaseMs);
      await run(other, remove(nodes.lease));
      await using next = storeAt(server.address);
      expect(await next.acquire(key, randomUUID(), leaseMs, within(5_000))).toBe('acquired');
      // A check that there is a lease, and no more, takes the next holder's for one's own.
      await run(other, check(nodes.lease));
      other.destroy();
      const late = { fence: 9, owner, since: 0, leaseMs };
      expect(await store.raise(key, leaseId, late, version, within(5_000))).toMatchObject({
        reason: 'taken',
      });
      expect(await store.renew(key, leaseId, leaseMs, within(5_000))).toMatchObject({ reason: 'taken' });
      expect((await next.look(key, within(5_000)))?.held).toBe(true);
    });

    test('a holder whose session has ended writes what it likes, unless the write checks the lease', async () => {
      const leaseMs = 1_000;
      const nodes = nodesOf(root, randomUUID());
      const [first, second] = [await plain(server.port, leaseMs), await plain(server.port, 10_000)];
      const lease = (name: string) => createNode(nodes.lease, name, 'with the session');
      await run(second, createNode(nodes.lock, '', 'for ever'), createNode(nodes.tenure, '', 'for ever'));
      await run(first, lease('first'), setData(nodes.tenure, 'first'));
      await expect
        .poll(() => run(second, lease('second'), setData(nodes.tenure, 'second')).catch(String), {
          timeout: 10_000,
        })
        .toBeUndefined();
      // The first holder goes on where it was, on a new connection.
      const late = await plain(server.port, leaseMs);
      await run(late, setData(nodes.lock, 'written by the first'));
      expect((await second.send(getData(nodes.lock), within(5_000)))?.data).toBe('written by the first');
      await expect(
        run(late, check(nodes.lease), check(nodes.tenure, 1), setData(nodes.lock, 'again')),
      ).rejects.toThrow('refused');
      for (const connection of [late, second]) connection.destroy();
    });
  });

  test('a follower that is cut off still answers for a session that has ended: each renewal asks the leader', async () => {
    const leaseMs = 2_000;
    await using ensemble = await startZooKeeperEnsemble(tickMs, { proxies: true });
    const [leader, follower] = await byRole(ensemble.members);
    const key = randomUUID();
    const { lease } = nodesOf(root, key);
    const first = randomUUID();
    await using holding = storeAt(follower.server.address);
    await using others = storeAt(leader.server.address);
    await holding.create(key, within(5_000));
    expect(await holding.acquire(key, first, leaseMs, within(5_000))).toBe('acquired');
    expect(await holding.renew(key, first, leaseMs, within(5_000))).toBe('renewed');
    const naive = await plain(follower.server.port, leaseMs, true);
    await run(naive, createNode('/naive', '', 'with the session'));

    follower.toLeader.get(leader)?.fault({ kind: 'hold' });
    const next = () => others.acquire(key, randomUUID(), 10_000, within(2_000)).catch(String);
    await expect.poll(next, { timeout: 8_000 }).toBe('acquired');
    await goneAt(leader.server.port, '/naive');
    // To the follower both are as they were.
    expect(await naive.send(existsNode('/naive'), within(2_000))).toBeDefined();
    expect(await naive.send(existsNode(lease), within(2_000))).toBeDefined();
    await expect(holding.renew(key, first, leaseMs, within(1_000))).rejects.toThrow();
    await expect(holding.look(key, within(1_000))).rejects.toThrow();
    naive.destroy();
  });

  describe('of an ensemble', async () => {
    const ensemble = await startZooKeeperEnsemble(tickMs);
    afterAll(() => ensemble[Symbol.asyncDispose]());
    const { members } = ensemble;

    test('a change of leader makes a lease end late, never early, and lets the holder renew it', async () => {
      const leaseMs = 5_000;
      const [leader, follower] = await byRole(members);
      await using store = storeAt(...members.map(({ server }) => server.address));
      const renewed = await locksOn(store, 10).acquire(randomUUID(), owner, { waitMs: 20_000 });
      const key = randomUUID();
      await store.create(key, within(5_000));
      const sentAt = performance.now();
      expect(await store.acquire(key, randomUUID(), leaseMs, within(5_000))).toBe('acquired');
      await systemClock.sleep(leaseMs * 0.6);
      await leader.server.kill();
      const heldMs = (await goneAt(follower.server.port, nodesOf(root, key).lease)) - sentAt;
      expect(heldMs).toBeGreaterThan(leaseMs * 1.5);
      renewed.assertHeld();
      await renewed.release();
      await leader.server.start();
    });

    test('a follower that dies forgets requests on its connections: each renewal connects, and so reaches the leader', async () => {
      const leaseMs = 6_000;
      const [leader, follower] = await byRole(members);
      const [key, leaseId] = [randomUUID(), randomUUID()];
      await using store = storeAt(follower.server.address);
      const naive = await plain(follower.server.port, leaseMs);
      await run(naive, createNode('/forgotten', '', 'with the session'));
      await store.create(key, within(5_000));
      expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
      await systemClock.sleep(leaseMs * 0.7);

      const renewedAt = performance.now();
      expect(await store.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
      // A leader that is stopped for a moment does not ask its followers for news.
      await leader.server.freeze();
      const usedAt = performance.now();
      expect(await naive.send(existsNode('/forgotten'), within(5_000))).toBeDefined();
      await follower.server.kill();
      leader.server.thaw();
      const [forgotten, kept] = await Promise.all([
        goneAt(leader.server.port, '/forgotten'),
        goneAt(leader.server.port, nodesOf(root, key).lease),
      ]);
      expect(forgotten - usedAt).toBeLessThan(leaseMs - 1_000);
      expect(kept - renewedAt).toBeGreaterThan(leaseMs);
    });
  });
});
