import { afterAll } from 'vitest';
import { etcdPrograms, startEtcd } from '../../../../test/support/servers/etcd.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { etcdLockStore } from '../../src/etcd/etcdLockStore.ts';

const leaseMs = 4_000;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describeWith(etcdPrograms, 'etcd', async () => {
  const server = await startEtcd();
  const store = etcdLockStore(server.address);
  const holders = contractHolders({ kind: 'etcd', endpoints: server.address }, leaseMs);
  const remove = (path: string) => server.ask('kv/deleterange', { key: base64(`payonce/locks/${path}`) });

  lockStoreContract({
    store,
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: async (key) => void (await remove(`lease/${key}`)),
    async destroy(key) {
      await remove(`lease/${key}`);
      await remove(`record/${key}`);
    },
    startHolder: holders.startHolder,
    async withSilentServer(work) {
      await server.freeze();
      try {
        await work(store);
      } finally {
        server.thaw();
      }
    },
    async restart() {
      await server.kill();
      await server.start();
    },
    another: async () => etcdLockStore(server.address),
  });

  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
});
