import { afterAll } from 'vitest';
import { mysqlLockStore } from '../../../../src/locking/stores/mysqlLockStore.ts';
import { keyHash } from '../../../../src/locking/stores/sql/lockNames.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { describeWith } from '../../../support/servers/findProgram.ts';
import { mariadbPrograms, startMariadb } from '../../../support/servers/mariadb.ts';

describeWith(mariadbPrograms, 'leaders on rows of MariaDB', async () => {
  const server = await startMariadb();
  afterAll(() => server[Symbol.asyncDispose]());

  leaderContract({
    open: async () => mysqlLockStore(server.url),
    clock: systemClock,
    leaseMs: 3_000,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: async (key) => {
      await server.run('update payonce_locks set lease_id = null, ends_at = null where id = ?', [
        keyHash(key),
      ]);
    },
  });
});
