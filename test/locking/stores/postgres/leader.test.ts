import { afterAll } from 'vitest';
import { postgresLockStore } from '../../../../src/locking/stores/postgresLockStore.ts';
import { keyHash } from '../../../../src/locking/stores/sql/lockNames.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { describeWith } from '../../../support/servers/findProgram.ts';
import { postgresPrograms, startPostgres } from '../../../support/servers/postgres.ts';

describeWith(postgresPrograms, 'leaders on rows of PostgreSQL', async () => {
  const server = await startPostgres();
  afterAll(() => server[Symbol.asyncDispose]());

  leaderContract({
    open: async () => postgresLockStore(server.url),
    clock: systemClock,
    leaseMs: 3_000,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: async (key) => {
      await server.run('update payonce_locks set lease_id = null, ends_at = null where id = $1', [
        keyHash(key),
      ]);
    },
  });
});
