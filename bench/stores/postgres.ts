import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { postgresPrograms, startPostgres } from '../../test/support/servers/postgres.ts';
import type { BenchStoreKind } from './benchStore.ts';

/** Ends every session but the one that asks. */
export const endOthers = `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** Rows of PostgreSQL, each commit on disk. The bare client's statements are prepared too, and simpler. */
export const postgres: BenchStoreKind = {
  name: 'postgres',
  programs: postgresPrograms,
  leaseMs: 4_000,
  async start({ durable } = { durable: true }) {
    const server = await startPostgres({ max_connections: '300', fsync: durable ? 'on' : 'off' });
    const client = new Client(server.url).on('error', () => {});
    await client.connect();
    await client.query(`create table raw (
      key text primary key, lease_id text, ends_at timestamptz, fence bigint not null default 0, owner text)`);
    return {
      ports: [server.port],
      address: (at) => ({
        kind: 'postgres',
        url: server.url.replace(`:${server.port}/`, `:${at(server.port)}/`),
      }),
      async restart() {
        await server.kill();
        await server.start();
      },
      endSessions: async () => void (await server.run(endOthers)),
      raw: {
        prepare: async (key) => void (await client.query('insert into raw (key) values ($1)', [key])),
        async cycle(key) {
          const leaseId = randomUUID();
          await client.query({ ...statements.take, values: [key, leaseId] });
          await client.query({ ...statements.release, values: [key, leaseId] });
        },
      },
      async [Symbol.asyncDispose]() {
        await client.end();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

/** Their names make the client prepare them. */
const statements = {
  take: {
    name: 'take',
    text: `update raw set lease_id = $2, ends_at = clock_timestamp() + interval '4 s', fence = fence + 1, owner = 'bench'
      where key = $1 and (ends_at is null or ends_at < clock_timestamp()) returning fence`,
  },
  release: {
    name: 'release',
    text: 'update raw set lease_id = null, ends_at = null where key = $1 and lease_id = $2',
  },
};
