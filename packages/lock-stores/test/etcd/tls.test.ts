import { connect } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { certificatePrograms, makeCertificates } from '../../../../test/support/certificates.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { etcdPrograms, startEtcd } from '../../../../test/support/servers/etcd.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { createLocks } from '../../../leases/src/index.ts';
import { etcdLockStore } from '../../src/etcd/etcdLockStore.ts';

const owner = { instance: 'a', job: 'tls' };

describeWith({ ...etcdPrograms, ...certificatePrograms }, 'etcd over TLS', async () => {
  const { folder, file } = makeCertificates();
  const etcd = await startEtcd();
  /** Asks each client for a certificate of the authority, as a cluster with `client-cert-auth` does. */
  const options = { ca: file('ca.pem'), cert: file('server.pem'), key: file('server.key') };
  const front = createServer({ ...options, requestCert: true }, (client) => {
    const server = connect(etcd.port, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      from.on('error', () => to.destroy()).pipe(to);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const at = front.address();
  const endpoint = `https://127.0.0.1:${typeof at === 'object' ? at?.port : ''}`;
  afterAll(async () => {
    front.close();
    await etcd[Symbol.asyncDispose]();
    await removeFolder(folder);
  });

  test('a store with a certificate of its own gets its locks, and its waiters are woken', async () => {
    const tls = { ca: file('ca.pem'), cert: file('client.pem'), key: file('client.key') };
    await using locks = createLocks(etcdLockStore(endpoint, { tls }));
    const lease = await locks.acquire('a', owner, { waitMs: 0 });
    const waiting = locks.acquire('a', owner, { waitMs: 20_000 });
    setTimeout(() => void lease.release(), 300);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test.each([
    ['without a certificate', { ca: file('ca.pem') }],
    ['that does not know the authority', { cert: file('client.pem'), key: file('client.key') }],
  ])('one %s gets no answer', async (_, tls) => {
    await using store = etcdLockStore(endpoint, { tls });
    await expect(store.look('a', AbortSignal.timeout(5_000))).rejects.toThrow(/no answer/);
  });
});
