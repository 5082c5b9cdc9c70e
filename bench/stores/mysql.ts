import { randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { mariadbPrograms, startMariadb } from '../../test/support/servers/mariadb.ts';
import type { BenchStoreKind } from './benchStore.ts';

/** Rows of MariaDB, each commit on disk. */
export const mysql: BenchStoreKind = {
  name: 'mysql (MariaDB)',
  programs: mariadbPrograms,
  leaseMs: 4_000,
  async start() {
    const server = await startMariadb({ max_connections: '300' });
    const client = await createConnection(server.url);
    await client.query(`create table raw (
      name varchar(100) primary key, lease_id char(36), ends_at datetime(6), fence bigint not null default 0,
      owner varchar(100)
    )`);
    return {
      port: server.port,
      address: (to) => ({ kind: 'mysql', url: server.url.replace(`:${server.port}/`, `:${to}/`) }),
      raw: {
        prepare: async (key) => void (await client.execute('insert into raw (name) values (?)', [key])),
        async cycle(key) {
          const leaseId = randomUUID();
          await client.execute('select fence, ends_at > utc_timestamp(6) as held from raw where name = ?', [
            key,
          ]);
          await client.execute(
            `update raw set lease_id = ?, ends_at = utc_timestamp(6) + interval 4 second
             where name = ? and (ends_at is null or ends_at < utc_timestamp(6))`,
            [leaseId, key],
          );
          await client.execute(
            `update raw set fence = fence + 1, owner = 'bench'
             where name = ? and lease_id = ? and ends_at > utc_timestamp(6)`,
            [key, leaseId],
          );
          await client.execute(
            'update raw set lease_id = null, ends_at = null where name = ? and lease_id = ?',
            [key, leaseId],
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
