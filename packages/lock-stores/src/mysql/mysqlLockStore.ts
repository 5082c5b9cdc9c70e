import type { LockStore } from '@payonce/leases';
import { refuseClient } from '../refuseClient.ts';
import { connectionPool } from '../sql/connectionPool.ts';
import { tableName } from '../sql/lockNames.ts';
import { rowLockStore } from '../sql/rowLockStore.ts';
import type { SqlConnection } from '../sql/sqlConnection.ts';
import { connectMysql, type MysqlConnection } from './mysqlConnection.ts';

export type { MysqlConnection };

export interface MysqlLockOptions {
  /** The table of the locks, `payonce_locks` unless told. It is created on first use if it is missing. */
  table?: string;
  /** Most connections, 4 unless told. No lease keeps one. */
  connections?: number;
}

/**
 * A lock store in MySQL 5.7 or MariaDB 10.2, or later: each lock is a row of an InnoDB table.
 *
 * - A lease ends at `ends_at` on the server's clock (`utc_timestamp`, which no time zone shifts). The clocks of clients play no
 *   role. If the server crashes and starts again, its leases go on.
 * - The fence is in the same row. Rows are never deleted.
 * - The server must write each commit to disk, as it does by default: with `innodb_flush_log_at_trx_commit = 0` a crash forgets
 *   the leases of the last second
 *   (https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit).
 * - A failover to a replica that lags breaks it: the last leases are forgotten, and two hold a lock, with different fences if the
 *   clocks of the servers agree. So do two primaries that both take writes, as Galera allows.
 * - A server clock that jumps forward ends leases early, by as much as it jumps.
 *
 * Why not `GET_LOCK`: all databases of a server share its names, one session gets the same lock twice, and a holder that falls
 * silent keeps it until `wait_timeout`, eight hours by default. A row has none of that, and needs no connection per lease.
 *
 * A request that timed out may still be applied if the server had received it. Then the lock may stay occupied until the
 * lease runs out.
 *
 * @throws RangeError if the table name is not `table` or `database.table` in lower case, TypeError for a client or a pool.
 */
export function mysqlLockStore(
  address: string | MysqlConnection,
  { table = 'payonce_locks', connections = 4 }: MysqlLockOptions = {},
): LockStore {
  refuseClient(address);
  const name = tableName(table, '`');
  const pool = connectionPool((signal) => connectMysql(address, signal), connections);
  const schema = `create table if not exists ${name} (
    id binary(32) primary key,
    lock_key text not null,
    lease_id varchar(100),
    ends_at datetime(6),
    version char(36) not null,
    record text
  ) engine = InnoDB character set ascii collate ascii_bin`;

  return rowLockStore({
    name,
    isPermanent: (error) =>
      error instanceof Error &&
      /^ER_\w*ACCESS_DENIED|^ER_BAD_DB_ERROR$/.test(String(Reflect.get(error, 'code'))),
    now: 'utc_timestamp(6)',
    nowMs: `timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) div 1000`,
    later: 'utc_timestamp(6) + interval ? * 1000 microsecond',
    insert: `insert ignore into ${name} (id, lock_key, version) values (?, ?, ?)`,
    run: (statement, values, signal) =>
      pool.use(signal, (session) => orCreate(session, schema, () => session.run(statement, values))),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  });
}

/** Runs a statement; if its table is missing, creates that first. Many processes may do so at once. */
async function orCreate<T>(session: SqlConnection, schema: string, statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ER_NO_SUCH_TABLE')) throw error;
  }
  await session.run(schema);
  return statement();
}
