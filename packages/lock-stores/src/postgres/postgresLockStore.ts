import { randomUUID } from 'node:crypto';
import type { LockStore } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { fieldsOf, listOf } from '../answers.ts';
import { recordTail } from '../recordText.ts';
import { asciiJson, keyHash, tableName, toAscii } from '../sql/lockNames.ts';
import { rowLockStore } from '../sql/rowLockStore.ts';
import type { SqlValue } from '../sql/sqlConnection.ts';
import { untilAborted } from '../untilAborted.ts';
import { waiters } from '../waiters.ts';
import { postgresNowMs } from './advisoryStatements.ts';
import { lineStatements } from './lineStatements.ts';
import {
  orCreate,
  type PostgresConnection,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresSession,
  postgresDenies,
  postgresSessions,
} from './postgresConnection.ts';

export { lockInTransaction, type PostgresTransaction, postgresLockTables } from './lockInTransaction.ts';
export type { PostgresConnection, PostgresPool, PostgresPoolClient };

export interface PostgresLockOptions {
  /**
   * The table of the locks, `payonce_locks` unless told. It and that of the waiters, `payonce_locks_line`, are created on first use
   * if they are missing.
   */
  table?: string;
  /** Most connections, 4 unless told; no lease keeps one. A pool of your own sets its own limit. */
  connections?: number;
}

/**
 * A lock store in PostgreSQL: each lock is a row of a table. `address` is a URL, options of `pg`, or a `Pool` of your own, which is
 * used as it is and never closed.
 *
 * - A cycle of acquire and release is two statements. Waiters get the lock in the order of asking, and are woken by `NOTIFY` on a
 *   connection of its own, which the first waiter opens, or borrows from your pool unless it has only one. Behind a pooler nobody is woken: there waiters look again.
 * - A lease ends at `ends_at` on the server's clock (`clock_timestamp()`). The clocks of clients play no role. If the server
 *   crashes and starts again, its leases go on.
 * - The fence is in the same row. Rows stay until `forgetLocks` deletes them.
 * - Each change is on disk before it is answered: the sessions turn `synchronous_commit` on. A pool of your own must have it on,
 *   as servers have by default.
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
 * @throws RangeError if the table name is not `table` or `schema.table` in lower case, TypeError for what is no address, options or pool.
 */
export function postgresLockStore(
  address: string | PostgresConnection | PostgresPool,
  { table = 'payonce_locks', connections = 4 }: PostgresLockOptions = {},
): LockStore {
  const name = tableName(table, '"');
  const line = lineStatements(name, tableName(`${table}_line`, '"'));
  const { pool, connect, canKeep } = postgresSessions(address, connections);
  const waiting = waiters();
  const channel = channels + waiting.channel;
  const idOf = memoized(keyHash);
  let listener: Promise<PostgresSession> | undefined;

  function run(statement: string, values: readonly SqlValue[], signal: AbortSignal) {
    return pool.use(signal, (session) =>
      orCreate(session, line.schema, () => session.run(statement, values)),
    );
  }

  /** Listens once for all waiters, and once more if that connection has ended. */
  async function listen(signal: AbortSignal): Promise<void> {
    if (!canKeep) throw new Error('a pool of one connection has none to listen on');
    const listening = (listener ??= untilItsEnd(startListening(signal)));
    await untilAborted(signal, () => listening);
  }

  function untilItsEnd(listening: Promise<PostgresSession>): Promise<PostgresSession> {
    const over = () => {
      if (listener === listening) listener = undefined;
    };
    listening.then(({ ended }) => {
      if (ended.aborted) over();
      else ended.addEventListener('abort', over, { once: true });
    }, over);
    return listening;
  }

  async function startListening(signal: AbortSignal): Promise<PostgresSession> {
    const session = await connect(signal);
    try {
      await untilAborted(signal, () => session.listen(channel, waiting.call));
      return session;
    } catch (error) {
      // Unanswered, it would make every later waiter wait for it.
      session.destroy();
      throw error;
    }
  }

  return {
    ...rowLockStore({
      name,
      isPermanent: postgresDenies,
      now: 'clock_timestamp()',
      nowMs: postgresNowMs,
      later: `clock_timestamp() + ? * interval '1 millisecond'`,
      insert: `insert into ${name} (id, lock_key, version) values (?, ?, ?) on conflict do nothing`,
      run: (statement, values, signal) => run(numbered(statement), values, signal),
      async [Symbol.asyncDispose]() {
        const listening = await listener?.catch(() => undefined);
        listening?.destroy();
        await pool[Symbol.asyncDispose]();
      },
    }),

    async take(key, leaseId, { leaseMs, record, place }, signal) {
      const tail = record === undefined ? null : asciiJson(recordTail({ ...record, leaseMs }));
      const values = [idOf(key), leaseId, leaseMs, toAscii(key), record?.floor ?? 0, tail, randomUUID()];
      const asked =
        place === undefined
          ? run(line.take, values, signal)
          : run(line.takeInLine, [...values, place.ticket, place.keptMs], signal);
      const [taken] = fenceRows((await asked).rows);
      waiting.place(place?.ticket, taken === undefined);
      if (taken === undefined) return 'held';
      return record === undefined ? 0 : taken.fence;
    },

    async wait(key, signal) {
      await listen(signal);
      return waiting.add((ticket, each) => run(line.leave, [idOf(key), ticket, channels], each));
    },

    async release(key, leaseId, signal) {
      const { rows } = await run(line.release, [idOf(key), leaseId, channels], signal);
      return rows.length > 0 ? 'released' : 'gone';
    },
  };
}

/** Beginning of the channels on which processes are told that it is their turn. */
const channels = 'payonce_locks_';

/** A `bigint` comes as a text. */
const fenceRows = listOf(fieldsOf<{ fence: number }>({ fence: Number }));

/** Question marks as `$1`, `$2` and so on. */
const numbered = memoized((statement) => {
  let count = 0;
  return statement.replaceAll('?', () => `$${++count}`);
});
