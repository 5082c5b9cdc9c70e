import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import { int, text } from '../../src/zooKeeper/jute.ts';
import { nodesOf } from '../../src/zooKeeper/lockNodes.ts';
import { connectToZooKeeper } from '../../src/zooKeeper/zooKeeperConnection.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';

const tickMs = 500;
const within = (ms: number) => AbortSignal.timeout(ms);

describeWith(zooKeeperPrograms, 'ZooKeeper with settings of its own', async () => {
  const server = await startZooKeeper(tickMs);
  afterAll(() => server[Symbol.asyncDispose]());

  test('a lock that may be read and not taken is an error, not a lock that somebody holds', async () => {
    await using store = zooKeeperLockStore(server.address, { tickMs });
    await store.create('mine', within(10_000));
    const at = { host: '127.0.0.1', port: server.port };
    const connection = await connectToZooKeeper(at, { timeoutMs: 5_000, pings: true }, within(10_000));
    if (connection === 'expired') throw new Error('a new session has ended');
    const acl = [int(1), int(1), text('world'), text('anyone')];
    const body = Buffer.concat([text(nodesOf('/payonce/locks', 'mine').lock), ...acl, int(-1)]);
    // SetACL, to READ.
    await connection.send({ type: 7, body, answer: () => undefined }, within(10_000));
    connection.destroy();
    const error = await store.acquire('mine', 'a lease', 2_000, within(10_000)).catch((why: unknown) => why);
    expect(error).toMatchObject({ name: 'ZooKeeperRefused' });
    expect(store.isPermanent?.(error)).toBe(true);
  });

  test('a lease whose session the servers shorten is lost, not trusted for longer than they keep it', async () => {
    await using store = zooKeeperLockStore(server.address, { tickMs });
    await store.create('short', within(10_000));
    expect(await store.acquire('short', 'a lease', 8_000, within(10_000))).toBe('acquired');
    expect(await store.renew('short', 'a lease', 8_000, within(10_000))).toBe('renewed');
    await server.kill();
    await appendFile(join(server.folder, 'zoo.cfg'), 'maxSessionTimeout=4000\n');
    await server.start();
    expect(await store.renew('short', 'a lease', 8_000, within(10_000))).toMatchObject({ kind: 'refused' });
  });
});
