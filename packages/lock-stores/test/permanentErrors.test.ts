import { setTimeout as delay } from 'node:timers/promises';
import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import { BlobServiceClient } from '@azure/storage-blob';
import { createClient } from '@redis/client';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { etcdPrograms, startEtcd } from '../../../test/support/servers/etcd.ts';
import { describeWith } from '../../../test/support/servers/findProgram.ts';
import { freePort } from '../../../test/support/servers/freePort.ts';
import { mariadbPrograms, startMariadb } from '../../../test/support/servers/mariadb.ts';
import { postgresPrograms, startPostgres } from '../../../test/support/servers/postgres.ts';
import { redisPrograms, startRedis } from '../../../test/support/servers/redis.ts';
import { startServiceBusProcess } from '../../../test/support/servers/serviceBus.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../test/support/servers/zooKeeper.ts';
import { blobLockStore } from '../../leases/src/blobLockStore.ts';
import { createLocks, type LockStore } from '../../leases/src/index.ts';
import { startCosmos } from '../../local-azure/src/cosmos/index.ts';
import { cosmosLockStore } from '../src/cosmos/cosmosLockStore.ts';
import { etcdLockStore } from '../src/etcd/etcdLockStore.ts';
import { mysqlLockStore } from '../src/mysql/mysqlLockStore.ts';
import { postgresAdvisoryLockStore } from '../src/postgres/postgresAdvisoryLockStore.ts';
import { postgresLockStore } from '../src/postgres/postgresLockStore.ts';
import { quorumLockStore } from '../src/quorum/quorumLockStore.ts';
import { redisLockStore } from '../src/redis/redisLockStore.ts';
import { serviceBusLockStore } from '../src/serviceBus/serviceBusLockStore.ts';
import { zooKeeperLockStore } from '../src/zooKeeper/zooKeeperLockStore.ts';

const owner = { instance: 'a', job: 'permanent' };
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

/** Rejects unless somebody who waits for an hour learns of it at once. */
async function tells(store: LockStore): Promise<void> {
  await using opened = store;
  const waiting = createLocks(opened).acquire('a key', owner, { waitMs: 3_600_000 });
  await expect(waiting).rejects.toMatchObject({ name: 'LockStoreFailed', permanent: true });
}

describeWith(redisPrograms, 'Redis', async () => {
  const server = stack.use(await startRedis());
  const at = (user: string, rest = '') => `redis://${user}127.0.0.1:${server.port}${rest}`;
  const admin = await createClient({ url: server.url }).connect();
  await admin.aclSetUser('limited', ['on', '>limited', '~none', '+@all']);
  await admin.configSet('requirepass', 'right');
  admin.destroy();
  test.each([at(''), at(':wrong@'), at('nobody:right@'), at(':right@', '/99'), at('limited:limited@')])(
    '%s',
    (url) => tells(redisLockStore(url)),
  );
  test('a majority of a quorum', () =>
    tells(quorumLockStore([at(':wrong@'), at(':right@'), at('')].map((url) => redisLockStore(url)))));
});

describeWith(postgresPrograms, 'PostgreSQL', async () => {
  const server = stack.use(await startPostgres());
  await server.run('create role guest login');
  const at = (user: string, database: string) => `postgres://${user}@127.0.0.1:${server.port}/${database}`;
  test.each([at('nobody', 'postgres'), at('test', 'nowhere'), at('guest', 'postgres')])('%s', async (url) => {
    await tells(postgresLockStore(url));
    await tells(postgresAdvisoryLockStore(url));
  });
});

describeWith(mariadbPrograms, 'MariaDB', async () => {
  const server = stack.use(await startMariadb());
  await server.run(`create user guest@'127.0.0.1'`);
  test.each(['root:wrong', 'root', 'guest'])('%s', (user) =>
    tells(mysqlLockStore(`mysql://${user}@127.0.0.1:${server.port}/${user === 'root' ? 'nowhere' : 'test'}`)),
  );
});

describeWith(etcdPrograms, 'etcd', async () => {
  const server = stack.use(await startEtcd());
  await server.ask('auth/user/add', { name: 'root', password: 'right' });
  await server.ask('auth/user/grant', { user: 'root', role: 'root' });
  await server.ask('auth/user/add', { name: 'guest', password: 'guest' });
  await server.ask('auth/enable', {});
  test.each(['', 'root:wrong@', 'guest:guest@'])('as "%s"', (user) =>
    tells(etcdLockStore(`http://${user}127.0.0.1:${server.port}`)),
  );
});

describeWith(zooKeeperPrograms, 'ZooKeeper', async () => {
  const server = stack.use(await startZooKeeper(500));
  test('another tickTime than it was told', () =>
    tells(zooKeeperLockStore(server.address, { tickMs: 1_500 })));
});

describe('the services of Azure', async () => {
  const blobs = inject('azurite');
  const cosmos = stack.use(await startCosmos());
  const bus = stack.use(
    await startServiceBusProcess({ plain: { RequiresSession: false, LockDuration: 'PT5S' } }),
  );
  const blobStore = (address: string, name: string) =>
    blobLockStore(BlobServiceClient.fromConnectionString(address).getContainerClient(name));
  const wrongKey = blobs.replace(/AccountKey=[^;]+/, `AccountKey=${Buffer.alloc(64).toString('base64')}`);

  test('blobs with a wrong key', () => tells(blobStore(wrongKey, 'locks')));
  test('blobs in a container that cannot be', () => tells(blobStore(blobs, 'No_Such-')));
  test('Cosmos without the container', () =>
    tells(cosmosLockStore(new CosmosClient(cosmos.connectionString).database('none').container('none'))));
  test.each(['none', 'plain'])('the queue "%s" of Service Bus', (queue) =>
    tells(
      serviceBusLockStore((options) => new ServiceBusClient(bus.connectionString, options), queue, {
        lockDurationMs: 5_000,
      }),
    ),
  );
});

test('a server that is out of reach is no such error: a waiter goes on, as often as its backoff allows', async () => {
  const port = await freePort();
  const stores = {
    redis: redisLockStore(`redis://127.0.0.1:${port}`),
    postgres: postgresLockStore(`postgres://test@127.0.0.1:${port}/postgres`),
    advisory: postgresAdvisoryLockStore(`postgres://test@127.0.0.1:${port}/postgres`),
    mysql: mysqlLockStore(`mysql://root@127.0.0.1:${port}/test`),
    etcd: etcdLockStore(`http://127.0.0.1:${port}`),
    zooKeeper: zooKeeperLockStore(`127.0.0.1:${port}`),
  };
  await Promise.all(
    Object.entries(stores).map(async ([name, store]) => {
      await using opened = store;
      const told = Promise.withResolvers<unknown>();
      const ending = new AbortController();
      let tries = 0;
      const onError = (error: unknown) => {
        tries++;
        told.resolve(error);
      };
      const locks = createLocks(opened, { onError, backoff: { firstMs: 200, mostMs: 200 } });
      const waiting = locks.acquire('a key', owner, { waitMs: 3_600_000, signal: ending.signal });
      expect(await told.promise).toMatchObject({ name: 'LockStoreFailed', permanent: false });
      await delay(1_000);
      ending.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
      // A pause is at least half of the backoff, and the first one may be left out.
      expect(tries, name).toBeLessThanOrEqual(12);
    }),
  );
});
