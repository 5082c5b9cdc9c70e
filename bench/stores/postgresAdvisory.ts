import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { keyNumber } from '../../src/locking/stores/sql/lockNames.ts';
import { postgresPrograms, startPostgres } from '../../test/support/servers/postgres.ts';
import type { BenchStoreKind } from './benchStore.ts';

/** Advisory locks of PostgreSQL. Only the fence is written to disk. */
export const postgresAdvisory: BenchStoreKind = {
  name: 'postgres advisory',
  programs: postgresPrograms,
  leaseMs: 4_000,
  async start() {
    const server = await startPostgres({ max_connections: '300', fsync: 'on' });
    const client = new Client(server.url);
    await client.connect();
    await client.query(
      'create table raw (hash bigint primary key, fence bigint not null default 0, owner text)',
    );
    const number = (key: string) => String(keyNumber('raw', key));
    return {
      port: server.port,
      address: (to) => ({ kind: 'postgresAdvisory', url: server.url.replace(`:${server.port}/`, `:${to}/`) }),
      raw: {
        prepare: async (key) =>
          void (await client.query('insert into raw (hash) values ($1)', [number(key)])),
        async cycle(key) {
          const hash = number(key);
          await client.query(
            `select fence, hash in (
               select (classid::bigint << 32) | objid::bigint from pg_locks where locktype = 'advisory'
             ) as held from raw where hash = $1`,
            [hash],
          );
          await client.query(
            `select pg_try_advisory_lock($1), set_config('idle_session_timeout', '4000', false)`,
            [hash],
          );
          await client.query('update raw set fence = fence + 1, owner = $2 where hash = $1', [
            hash,
            randomUUID(),
          ]);
          await client.query(
            `select pg_advisory_unlock($1), set_config('idle_session_timeout', '0', false)`,
            [hash],
          );
        },
      },
      async [Symbol.asyncDispose]() {
        await client.end();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};
