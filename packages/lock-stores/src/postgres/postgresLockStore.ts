import type { LockStore } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { refuseClient } from '../refuseClient.ts';
import { connectionPool } from '../sql/connectionPool.ts';
import { tableName } from '../sql/lockNames.ts';
import { rowLockStore } from '../sql/rowLockStore.ts';
import { postgresNowMs } from './advisoryStatements.ts';
import { connectPostgres, orCreate, type PostgresConnection, postgresDenies } from './postgresConnection.ts';

export type { PostgresConnection };

export interface PostgresLockOptions {
  /** The table of the locks, `payonce_locks` unless told. It is created on first use if it is missing. */
  table?: string;
  /** Most connections, 4 unless told. No lease keeps one. */
  connections?: number;
}

/**
 * A lock store in PostgreSQL: each lock is a row of a table.
 *
 * - A lease ends at `ends_at` on the server's clock (`clock_timestamp()`). The clocks of clients play no role. If the server
 *   crashes and starts again, its leases go on.
 * - The fence is in the same row. Rows are never deleted.
 * - Each change is on disk before it is answered: the sessions turn `synchronous_commit` on.
 * - It works behind PgBouncer, with transaction pooling too, since each operation is one statement. PgBouncer refuses the
 *   parameters of the sessions; have it ignore them (`ignore_startup_parameters = statement_timeout, options`) or leave them
 *   out. Then the server itself must have `synchronous_commit` on, as it has by default.
 * - A failover to a standby that replicates asynchronously breaks it: the last leases are forgotten, and two hold a lock. New
 *   fences are higher all the same, unless its clock is behind (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION).
 * - A server clock that jumps forward ends leases early, by as much as it jumps.
 *
 * A request that timed out may still be applied if the server had received it. Then the lock may stay occupied until the
 * lease runs out.
 *
 * @throws RangeError if the table name is not `table` or `schema.table` in lower case, TypeError for a client or a pool.
 */
export function postgresLockStore(
  connection: string | PostgresConnection,
  { table = 'payonce_locks', connections = 4 }: PostgresLockOptions = {},
): LockStore {
  refuseClient(connection);
  const name = tableName(table, '"');
  const pool = connectionPool((signal) => connectPostgres(connection, signal), connections);
  const schema = `create table if not exists ${name} (
    id bytea primary key,
    lock_key text not null,
    lease_id text,
    ends_at timestamptz,
    version text not null,
    record text
  )`;

  return rowLockStore({
    name,
    isPermanent: postgresDenies,
    now: 'clock_timestamp()',
    nowMs: postgresNowMs,
    later: `clock_timestamp() + ? * interval '1 millisecond'`,
    insert: `insert into ${name} (id, lock_key, version) values (?, ?, ?) on conflict do nothing`,
    run: (statement, values, signal) =>
      pool.use(signal, (session) =>
        orCreate(session, schema, () => session.run(numbered(statement), values)),
      ),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  });
}

/** Question marks as `$1`, `$2` and so on. */
const numbered = memoized((statement) => {
  let count = 0;
  return statement.replaceAll('?', () => `$${++count}`);
});
