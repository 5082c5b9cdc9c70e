import { afterAll } from 'vitest';
import { postgresAdvisoryLockStore } from '../../../../src/locking/stores/postgresAdvisoryLockStore.ts';
import { keyNumber } from '../../../../src/locking/stores/sql/lockNames.ts';
import { systemClock } from '../../../../src/platform/clock.ts';
import { leaderContract } from '../../../../src/testing/locks/leaderContract.ts';
import { describeWith } from '../../../support/servers/findProgram.ts';
import { postgresPrograms, startPostgres } from '../../../support/servers/postgres.ts';

describeWith(postgresPrograms, 'leaders on advisory locks of PostgreSQL', async () => {
  const server = await startPostgres();
  afterAll(() => server[Symbol.asyncDispose]());

  leaderContract({
    open: async () => postgresAdvisoryLockStore(server.url),
    clock: systemClock,
    leaseMs: 3_000,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    lose: async (key) => {
      const number = String(keyNumber('payonce_advisory_locks', key));
      await server.run(
        `select pg_terminate_backend(pid, 5000) from pg_locks
         where locktype = 'advisory' and (classid::bigint << 32) | objid::bigint = $1`,
        [number],
      );
    },
  });
});
