import { afterAll } from 'vitest';
import { resettable } from '../../../../test/support/resettable.ts';
import { describeWith } from '../../../../test/support/servers/findProgram.ts';
import { postgresPrograms, startPostgres } from '../../../../test/support/servers/postgres.ts';
import { noSignals } from '../../../../test/support/signals.ts';
import { contractHolders } from '../../../../test/support/startLockHolder.ts';
import { systemClock } from '../../../leases/src/clock.ts';
import { lockStoreContract } from '../../../leases/src/testing/lockStoreContract.ts';
import { postgresAdvisoryLockStore } from '../../src/postgres/postgresAdvisoryLockStore.ts';
import { keyNumber } from '../../src/sql/lockNames.ts';

const leaseMs = 4_000;
const table = 'payonce_advisory_locks';

describeWith(postgresPrograms, 'advisory locks of PostgreSQL', async () => {
  const server = await startPostgres({ max_connections: '300' });
  const { url } = server;
  const store = postgresAdvisoryLockStore(url);
  const holders = contractHolders({ kind: 'postgresAdvisory', url }, leaseMs);
  afterAll(async () => {
    await holders[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const urlAt = (port: number) => url.replace(`:${server.port}/`, `:${port}/`);
  async function endSession(key: string): Promise<void> {
    await server.run(
      `select pg_terminate_backend(pid, 5000) from pg_locks
       where locktype = 'advisory' and (classid::bigint << 32) | objid::bigint = $1`,
      [String(keyNumber(table, key))],
    );
  }

  lockStoreContract({
    store,
    clock: systemClock,
    leaseMs,
    pass: (ms) => systemClock.sleep(ms),
    realTime: true,
    canFreeze: !noSignals,
    lose: endSession,
    endSession,
    resettable: () => resettable(server.port, (port) => postgresAdvisoryLockStore(urlAt(port))),
    destroy: async (key) => {
      await server.run(`delete from ${table} where hash = $1`, [String(keyNumber(table, key))]);
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
    another: async () => postgresAdvisoryLockStore(url),
  });
});
