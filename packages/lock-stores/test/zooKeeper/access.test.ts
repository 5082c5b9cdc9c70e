import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { certificatePrograms, makeCertificates } from '../../../../test/support/certificates.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { startZooKeeper, zooKeeperPrograms } from '../../../../test/support/servers/zooKeeper.ts';
import { createLocks } from '../../../leases/src/index.ts';
import { partMetric, type Telemetry } from '../../../leases/src/telemetry.ts';
import { freePorts } from '../../../local-azure/src/freePorts.ts';
import { zooKeeperLockStore } from '../../src/zooKeeper/zooKeeperLockStore.ts';

const owner = { instance: 'a', job: 'access' };
const tickMs = 500;

describeWith({ ...zooKeeperPrograms, ...certificatePrograms }, 'ZooKeeper for some', async () => {
  const { folder, file } = makeCertificates();
  const keyStore = join(folder, 'both.pem');
  writeFileSync(keyStore, Buffer.concat([file('server.key'), file('server.pem')]));
  const [securePort = 0] = await freePorts(1);
  const server = await startZooKeeper(tickMs, {
    serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
    secureClientPort: securePort,
    'ssl.keyStore.location': keyStore,
    'ssl.trustStore.location': join(folder, 'ca.pem'),
  });
  const secure = `127.0.0.1:${securePort}`;
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await removeFolder(folder);
  });

  test('a store with a certificate of its own gets its locks over TLS, and its waiters are woken', async () => {
    const tls = { ca: file('ca.pem'), cert: file('client.pem'), key: file('client.key') };
    await using locks = createLocks(zooKeeperLockStore(secure, { tickMs, tls }));
    const lease = await locks.acquire('a', owner, { waitMs: 20_000 });
    const waiting = locks.acquire('a', owner, { waitMs: 20_000 });
    setTimeout(() => void lease.release(), 300);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test.each([
    ['without a certificate', () => ({ ca: file('ca.pem') })],
    ['that does not know the authority', () => ({ cert: file('client.pem'), key: file('client.key') })],
  ])('one %s gets no answer', async (_, tls) => {
    await using store = zooKeeperLockStore(secure, { tickMs, tls: tls() });
    await expect(store.look('a', AbortSignal.timeout(5_000))).rejects.toThrow(/ZooKeeper/);
  });

  test('nodes made with a name and a password are for nobody else, and who is refused is told for good', async () => {
    const root = '/digest/locks';
    const open = (digest?: string) =>
      zooKeeperLockStore(server.address, { tickMs, root, ...(digest === undefined ? {} : { digest }) });
    const renewed = Promise.withResolvers<unknown>();
    const telemetry: Telemetry = {
      count() {},
      record: (name, _, attributes) =>
        name === partMetric.leaseRenewMs && renewed.resolve(attributes?.outcome),
    };
    await using own = createLocks(open('jobs:secret'), { leaseSeconds: 2, telemetry });
    const lease = await own.acquire('a', owner, { waitMs: 20_000 });
    // A renewal connects anew.
    expect(await renewed.promise).toBe('renewed');
    for (const other of ['jobs:guessed', undefined]) {
      await using locks = createLocks(open(other));
      await expect(locks.acquire('a', owner, { waitMs: 20_000 })).rejects.toMatchObject({ permanent: true });
    }
    await lease.release();
    await using again = createLocks(open('jobs:secret'));
    await (await again.acquire('a', owner, { waitMs: 20_000 })).release();
  });
});
