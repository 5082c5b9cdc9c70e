import { randomUUID } from 'node:crypto';
import type { LockStore } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { recordTail } from '../recordText.ts';
import { refuseUnknown } from '../refuseUnknown.ts';
import { type ConnectionPool, connectionPool } from '../sql/connectionPool.ts';
import { asciiJson, keyHash, tableName, toAscii } from '../sql/lockNames.ts';
import { rowLockStore } from '../sql/rowLockStore.ts';
import type { SqlConnection, SqlValue } from '../sql/sqlConnection.ts';
import {
  borrowMysql,
  connectMysql,
  type MysqlConnection,
  type MysqlPool,
  type MysqlPoolConnection,
  type MysqlPromisePool,
} from './mysqlConnection.ts';

export type { MysqlConnection, MysqlPool, MysqlPoolConnection, MysqlPromisePool };

export interface MysqlLockOptions {
  /** The table of the locks, `payonce_locks` unless told. It is created on first use if it is missing. */
  table?: string;
  /** Most connections, 4 unless told; no lease keeps one. A pool of your own sets its own limit. */
  connections?: number;
}

/**
 * A lock store in MySQL 5.7 or MariaDB 10.2, or later: each lock is a row of an InnoDB table.
 * `address` is a URL, options of `mysql2`, or a pool of your own (of `mysql2` or `mysql2/promise`), which is used as it is and never
 * closed; it must have `autocommit` on.
 *
 * - A cycle of acquire and release is two statements. Nobody can be woken: waiters look again.
 * - A lease ends at `ends_at` on the server's clock (`utc_timestamp`, which no time zone shifts). The clocks of clients play no
 *   role. If the server crashes and starts again, its leases go on.
 * - The fence is in the same row. Rows stay until `forgetLocks` deletes them.
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
 * @throws RangeError if the table name is not `table` or `database.table` in lower case, TypeError for what is no address, options or pool.
 */
export function mysqlLockStore(
  address: string | MysqlConnection | MysqlPool,
  { table = 'payonce_locks', connections = 4 }: MysqlLockOptions = {},
): LockStore {
  const name = tableName(table, '`');
  const pool = sessionsOf(address, connections);
  const idOf = memoized(keyHash);
  const schema = `create table if not exists ${name} (
    id binary(32) primary key,
    lock_key text not null,
    lease_id varchar(100),
    ends_at datetime(6),
    version char(36) not null,
    record text
  ) engine = InnoDB character set ascii collate ascii_bin`;

  const nowMs = `timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) div 1000`;
  const later = 'utc_timestamp(6) + interval ? * 1000 microsecond';
  /** Parameters: lower bound of the fence, the record behind it. */
  const counted = (last: string) =>
    `concat('{"fence":', last_insert_id(greatest(${last}, ${nowMs}, ? + 1)), ?)`;
  const lastFence = `if(record like '{"fence":%', cast(substring_index(substring(record, 10), ',', 1) as unsigned) + 1, 1)`;

  const run = (statement: string, values: readonly SqlValue[], signal: AbortSignal) =>
    pool.use(signal, (session) => orCreate(session, schema, () => session.run(statement, values)));

  return {
    ...rowLockStore({
      name,
      isPermanent: (error) =>
        error instanceof Error &&
        /^ER_\w*ACCESS_DENIED|^ER_BAD_DB_ERROR$/.test(String(Reflect.get(error, 'code'))),
      now: 'utc_timestamp(6)',
      nowMs,
      later,
      insert: `insert ignore into ${name} (id, lock_key, version) values (?, ?, ?)`,
      run,
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }),

    async take(key, leaseId, { leaseMs, record }, signal) {
      const id = idOf(key);
      const version = randomUUID();
      const fence = record && [record.floor, asciiJson(recordTail({ ...record, leaseMs }))];
      const again = await run(
        `update ${name} set lease_id = ?, ends_at = ${later}${fence ? `, version = ?, record = ${counted(lastFence)}` : ''}
         where id = ? and (ends_at is null or ends_at <= utc_timestamp(6) or lease_id = ?)`,
        [leaseId, leaseMs, ...(fence ? [version, ...fence] : []), id, leaseId],
        signal,
      );
      if (again.matched > 0) return fence ? (again.counted ?? 0) : 0;
      const anew = await run(
        `insert ignore into ${name} (id, lock_key, lease_id, ends_at, version, record)
         values (?, ?, ?, ${later}, ?, ${fence ? counted('1') : 'null'})`,
        [id, toAscii(key), leaseId, leaseMs, version, ...(fence ?? [])],
        signal,
      );
      if (anew.matched === 0) return 'held';
      return fence ? (anew.counted ?? 0) : 0;
    },
  };
}

function sessionsOf(
  address: string | MysqlConnection | MysqlPool,
  most: number,
): ConnectionPool<SqlConnection> {
  if (typeof address === 'object' && 'getConnection' in address) {
    const checked = new WeakSet();
    const connect = (signal: AbortSignal) => borrowMysql(address, checked, signal);
    return connectionPool(connect, Number.POSITIVE_INFINITY, 0);
  }
  if (typeof address === 'string') return connectionPool((signal) => connectMysql(address, signal), most);
  refuseUnknown(address, ['uri', 'host', 'port', 'socketPath', 'user', 'password', 'database', 'ssl']);
  return connectionPool((signal) => connectMysql(address as MysqlConnection, signal), most);
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
