import { afterAll } from 'vitest';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { mariadbPrograms, startMariadb } from '../../../../test/support/servers/mariadb.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { mysqlLockStore } from '../../src/mysql/mysqlLockStore.ts';
import { keyHash } from '../../src/sql/lockNames.ts';

const leaseMs = 4_000;

describeWith(mariadbPrograms, 'rows of MariaDB', async () => {
  const server = await startMariadb();
  const { url } = server;
  const store = mysqlLockStore(url);
  const holders = contractHolders({ kind: 'mysql', url }, leaseMs);
  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  lockStoreContract({
    store,
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: async (key) => {
      await server.run('update payonce_locks set lease_id = null, ends_at = null where id = ?', [
        keyHash(key),
      ]);
    },
    destroy: async (key) => {
      await server.run('delete from payonce_locks where id = ?', [keyHash(key)]);
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
    another: async () => mysqlLockStore(url),
  });
});
