import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { z } from 'zod';
import { advisoryStatements } from '../../packages/lock-stores/src/postgres/advisoryStatements.ts';
import { keyNumber } from '../../packages/lock-stores/src/sql/lockNames.ts';
import { postgresPrograms, startPostgres } from '../../test/support/servers/postgres.ts';
import type { BenchStoreKind } from './benchStore.ts';
import { recordWith } from './holderRecord.ts';
import { endOthers } from './postgres.ts';

const leaseMs = 4_000;
const behindFence = recordWith(1, leaseMs).slice('{"fence":1'.length);

/** Advisory locks of PostgreSQL. Only the fence is written to disk. The bare client runs the store's own statements. */
export const postgresAdvisory: BenchStoreKind = {
  name: 'postgres advisory',
  programs: postgresPrograms,
  leaseMs,
  async start({ durable } = { durable: true }) {
    const server = await startPostgres({ max_connections: '300', fsync: durable ? 'on' : 'off' });
    const client = new Client(server.url).on('error', () => {});
    await client.connect();
    const sql = advisoryStatements('raw');
    await client.query(sql.schema.join(';'));
    const [{ pid }] = processes.parse((await client.query('select pg_backend_pid() as pid')).rows);
    const number = (key: string) => String(keyNumber('raw', key));

    /** The name makes the client prepare the statement. */
    async function run(name: 'create' | 'take' | 'release', values: unknown[]) {
      await client.query({ name, text: sql[name], values });
    }

    return {
      ports: [server.port],
      address: (at) => ({
        kind: 'postgresAdvisory',
        url: server.url.replace(`:${server.port}/`, `:${at(server.port)}/`),
      }),
      async restart() {
        await server.kill();
        await server.start();
      },
      endSessions: async () => void (await server.run(endOthers)),
      raw: {
        prepare: (key) => run('create', [number(key), key, randomUUID()]),
        async cycle(key) {
          const hash = number(key);
          await run('take', [hash, pid, key, String(leaseMs), 'false', 0, behindFence, randomUUID()]);
          await run('release', [hash, pid]);
        },
      },
      async [Symbol.asyncDispose]() {
        await client.end();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

const processes = z.tuple([z.object({ pid: z.number() })]);
