import { createHash, randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { mariadbPrograms, startMariadb } from '../../test/support/servers/mariadb.ts';
import type { BenchStoreKind } from './benchStore.ts';
import { recordWith } from './holderRecord.ts';

const leaseMs = 4_000;
const behindFence = recordWith(1, leaseMs).slice('{"fence":1'.length);

/**
 * Rows of MariaDB, each commit on disk. The bare client runs the same prepared statements through the promises of mysql2, which
 * take a stack trace for each call. Ours makes its own promises of the callbacks.
 */
export const mysql: BenchStoreKind = {
  name: 'mysql (MariaDB)',
  programs: mariadbPrograms,
  leaseMs,
  async start() {
    const server = await startMariadb({ max_connections: '300' });
    const client = await createConnection(server.url);
    client.on('error', () => {});
    await client.query(`create table raw (
      id binary(32) primary key, lock_key text not null, lease_id varchar(100), ends_at datetime(6),
      version char(36) not null, record text
    ) engine = InnoDB character set ascii collate ascii_bin`);
    return {
      ports: [server.port],
      address: (at) => ({
        kind: 'mysql',
        url: server.url.replace(`:${server.port}/`, `:${at(server.port)}/`),
      }),
      async restart() {
        await server.kill();
        await server.start();
      },
      async endSessions() {
        const listed = await server.run(
          'select id from information_schema.processlist where id <> connection_id()',
        );
        // A connection may have ended meanwhile, and the server's own threads have no end.
        for (const { id } of listed) await server.run(`kill ${id}`).catch(() => {});
      },
      raw: {
        async prepare(key) {
          const values = [idOf(key), key, randomUUID(), recordWith(1, leaseMs)];
          await client.execute('insert into raw (id, lock_key, version, record) values (?, ?, ?, ?)', values);
        },
        async cycle(key) {
          const [id, leaseId] = [idOf(key), randomUUID()];
          await client.execute(
            `update raw set lease_id = ?, ends_at = utc_timestamp(6) + interval ? * 1000 microsecond, version = ?,
               record = concat('{"fence":', last_insert_id(cast(substring_index(substring(record, 10), ',', 1) as unsigned) + 1), ?)
             where id = ? and (ends_at is null or ends_at <= utc_timestamp(6) or lease_id = ?)`,
            [leaseId, leaseMs, randomUUID(), behindFence, id, leaseId],
          );
          await client.execute(
            `update raw set lease_id = null, ends_at = null
             where id = ? and lease_id = ? and ends_at > utc_timestamp(6)`,
            [id, leaseId],
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

function idOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
