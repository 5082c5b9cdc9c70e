import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import { bool, bytes, int, long } from '../../src/zooKeeper/jute.ts';
import { connectToZooKeeper } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';

const tickMs = 500;
const leaseMs = 5_000;
const within = (ms: number) => AbortSignal.timeout(ms);

test.each(['', '/chroot', ':2181', 'a,,b', 'a b:2181', 'a:port'])(
  '%j is no connect string',
  (connectString) => {
    expect(() => zooKeeperLockStore(connectString)).toThrow(RangeError);
  },
);

test('a server that begins another session in the place of ours has ended it', async () => {
  const keeper = createServer((socket) => {
    const another = [int(0), int(leaseMs), long(8n), bytes(Buffer.alloc(16)), bool(false)];
    socket.once('data', () => socket.write(bytes(Buffer.concat(another))));
  }).listen(0, '127.0.0.1');
  await once(keeper, 'listening');
  const server = { host: '127.0.0.1', port: (keeper.address() as AddressInfo).port };
  const connect = (id: bigint) => {
    const session = { id, password: Buffer.alloc(16), timeoutMs: leaseMs };
    return connectToZooKeeper(server, { timeoutMs: leaseMs, session }, within(5_000));
  };
  expect(await connect(7n)).toBe('expired');
  const connected = await connect(8n);
  expect(connected).toMatchObject({ session: { id: 8n } });
  if (connected !== 'expired') connected.destroy();
  keeper.close();
});

describeWith(zooKeeperPrograms, 'the servers of ZooKeeper', async () => {
  const server = await startZooKeeper(tickMs);
  afterAll(() => server[Symbol.asyncDispose]());

  test('a call that fails is not retried, and the next one goes to the next server', async () => {
    await using store = zooKeeperLockStore(`127.0.0.1:1,${server.address}`, { tickMs });
    const [key, leaseId] = [randomUUID(), randomUUID()];
    await expect(store.create(key, within(5_000))).rejects.toThrow(/lost ZooKeeper at 127\.0\.0\.1:1/);
    await store.create(key, within(5_000));
    expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    expect(await store.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
  });

  test('a server that falls silent is left for the next one', async () => {
    await using silent = await startZooKeeper(tickMs);
    await using store = zooKeeperLockStore(`${silent.address},${server.address}`, { tickMs });
    const key = randomUUID();
    await store.create(key, within(5_000));
    await silent.freeze();
    await expect(store.look(key, within(500))).rejects.toThrow();
    expect(await store.look(key, within(5_000))).toBeUndefined();
    silent.thaw();
  });

  test('locks below different nodes are different locks', async () => {
    const [key, leaseId] = [randomUUID(), randomUUID()];
    await using first = zooKeeperLockStore(`${server.address}/one/`, { tickMs });
    await using second = zooKeeperLockStore(`${server.address}/two/2`, { tickMs });
    await using third = zooKeeperLockStore(server.address, { tickMs, root: '/one/locks' });
    for (const store of [first, second, third]) {
      await store.create(key, within(5_000));
      expect(await store.acquire(key, leaseId, leaseMs, within(5_000))).toBe('acquired');
    }
    expect(await first.release(key, leaseId, within(5_000))).toBe('released');
    expect(await second.renew(key, leaseId, leaseMs, within(5_000))).toBe('renewed');
  });

  test('lists more locks than it asks for at once, and nothing where there are none', async () => {
    await using store = zooKeeperLockStore(`${server.address}/listed`, { tickMs });
    expect(await Array.fromAsync(store.list?.('', within(5_000)) ?? [])).toEqual([]);
    const keys = Array.from({ length: 250 }, (_, i) => `a/${i}.ä`);
    await Promise.all(keys.map((key) => store.create(key, within(20_000))));
    await store.acquire('a/7.ä', randomUUID(), leaseMs, within(5_000));
    const listed = await Array.fromAsync(store.list?.('a/', within(10_000)) ?? []);
    expect(listed.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    expect(listed.filter(({ held }) => held).map(({ key }) => key)).toEqual(['a/7.ä']);
  });

  test('a server that has too many connections from here says so', async () => {
    await using full = await startZooKeeper(tickMs, { maxClientCnxns: 2 });
    await using store = zooKeeperLockStore(full.address, { tickMs });
    for (const key of ['first', 'second']) await store.create(key, within(5_000));
    expect(await store.acquire('first', randomUUID(), leaseMs, within(5_000))).toBe('acquired');
    const refused = store.acquire('second', randomUUID(), leaseMs, within(5_000));
    await expect(refused).rejects.toThrow(/maxClientCnxns/);
  });
});
