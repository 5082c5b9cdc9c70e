import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import { startTcpProxy } from '../../../../test/support/tcpProxy.ts';
import { nodesOf } from '../../src/zooKeeper/lockNodes.ts';
import { connectToZooKeeper } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';
import { createNode, existsNode, multi } from '../../src/zooKeeper/zooKeeperRequests.ts';

const tickMs = 1_000;
const leaseMs = 8_000;
const within = (ms: number) => AbortSignal.timeout(ms);

describeWith(zooKeeperPrograms, 'an acquire on ZooKeeper whose answer was lost', async () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  const server = opened.use(await startZooKeeper(tickMs));
  const direct = opened.use(zooKeeperLockStore(server.address, { tickMs }));

  async function plain() {
    const at = { host: '127.0.0.1', port: server.port };
    const connection = await connectToZooKeeper(at, { timeoutMs: leaseMs, pings: true }, within(5_000));
    if (connection === 'expired') throw new Error('a new session has ended');
    opened.defer(connection.destroy);
    return connection;
  }

  /** A store, a lock that nobody has, and an acquire that is aborted once ZooKeeper has carried it out. */
  async function world() {
    const proxy = opened.use(await startTcpProxy({ port: server.port }));
    const store = opened.use(zooKeeperLockStore(`127.0.0.1:${proxy.port}`, { tickMs }));
    const [key, leaseId] = [randomUUID(), randomUUID()];
    const nodes = nodesOf('/payonce/locks', key);
    await store.create(key, within(5_000));
    const watching = await plain();
    const tenure = async () => (await watching.send(existsNode(nodes.tenure), within(5_000)))?.version;

    async function loseAnswer(ms: number): Promise<void> {
      const before = await tenure();
      const giveUp = new AbortController();
      proxy.fault({ kind: 'slowSuccess', ms: 500 });
      const asked = store.acquire(key, leaseId, ms, giveUp.signal).catch(String);
      await expect.poll(tenure, { timeout: 20_000, interval: 5 }).not.toBe(before);
      giveUp.abort(new Error('aborted'));
      expect(await asked).toBe('Error: aborted');
      proxy.fault({ kind: 'none' });
    }
    return { store, key, leaseId, nodes, loseAnswer };
  }

  test('succeeds when it is repeated', async () => {
    const { store, key, leaseId, loseAnswer } = await world();
    await loseAnswer(leaseMs);
    expect(await direct.acquire(key, randomUUID(), leaseMs, within(5_000))).toBe('held');
    expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    expect(await store.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
  });

  test('counts its fence when it is repeated as a take', async () => {
    const { store, key, leaseId, loseAnswer } = await world();
    await loseAnswer(leaseMs);
    const record = { owner: { instance: 'a', job: 'lost' }, since: 0, floor: 0 };
    const take = (of: typeof store, id: string) => of.take?.(key, id, { leaseMs, record }, within(5_000));
    expect(await take(direct, randomUUID())).toBe('held');
    const fence = Number(await take(store, leaseId));
    expect(await direct.look(key, within(5_000))).toMatchObject({ held: true, record: { fence } });
    expect(Number(await take(store, leaseId))).toBeGreaterThan(fence);
    expect(await store.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
    expect(await store.release(key, leaseId, within(5_000))).toBe('released');
  });

  test('is undone by a release', async () => {
    const { store, key, leaseId, loseAnswer } = await world();
    await loseAnswer(leaseMs);
    expect(await store.release(key, leaseId, within(5_000))).toBe('released');
    expect(await direct.acquire(key, randomUUID(), leaseMs, within(5_000))).toBe('acquired');
  });

  test('does not free a lock that the lease had with another length, not for a moment', async () => {
    const { store, key, leaseId, nodes, loseAnswer } = await world();
    expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    const competitor = await plain();
    const take = multi([createNode(nodes.lease, 'another', 'with the session')]);
    const answers = new Set<string>();
    let done = false;
    const competing = (async () => {
      while (!done) answers.add((await competitor.send(take, within(5_000))).kind);
    })();
    await loseAnswer(2 * leaseMs);
    expect(await store.acquire(key, leaseId, 2 * leaseMs, within(5_000))).toBe('acquired');
    expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    done = true;
    await competing;
    expect(answers).toEqual(new Set(['refused']));
    expect(await store.release(key, leaseId, within(5_000))).toBe('released');
  });
});
