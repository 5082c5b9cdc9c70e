import { randomUUID } from 'node:crypto';
import type { LockStore, LockView, Refusal, StoreTraits } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { recordFromText, recordToText } from '../recordText.ts';
import { type LeaseSession, leaseSession } from '../sql/leaseSession.ts';
import { asciiJson, fromAscii, keyNumber, rowVersion, tableName, toAscii } from '../sql/lockNames.ts';
import type { SqlValue } from '../sql/sqlConnection.ts';
import { advisoryStatements, attemptRows, breakRows, type ViewRow, viewRows } from './advisoryStatements.ts';
import {
  orCreate,
  type PostgresConnection,
  type PostgresPool,
  type PostgresPoolClient,
  postgresDenies,
  postgresSessions,
} from './postgresConnection.ts';

export type { PostgresConnection, PostgresPool, PostgresPoolClient };

export interface PostgresAdvisoryLockOptions {
  /** The table of the records, `payonce_advisory_locks` unless told. It is created on first use if it is missing. */
  table?: string;
  /** Most connections beside those of leases, 4 unless told. A pool of your own sets its own limit. */
  connections?: number;
}

/** The lag is the time that a session takes to end on a busy machine. */
const traits: StoreTraits = {
  lease: { minMs: 1_000, maxMs: 3_600_000, stepMs: 1 },
  expiryLagMs: 500,
  keptBy: 'connection',
  looks: 'anyone',
};

/**
 * A lock store on the advisory locks of PostgreSQL 14 or later, of an address, options of `pg`, or a `Pool` of your own, which is
 * never closed and must lend a connection for each lease. Each lease has a connection of its own, whose session holds
 * the lock: mind `max_connections`.
 *
 * - A lease ends with its session: at once if its process dies or its connection breaks, and after the length of the lease
 *   if nothing is heard of it (`idle_session_timeout`, by a timer of the server). No clock plays a role. The holder loses it
 *   when it learns that the connection has ended. A network that tells only the server leaves it in the dark until its next
 *   renewal: there the fence decides.
 * - The fence is in a row, written by the session that holds the lock. Rows are never deleted.
 * - The name of an advisory lock is a number of 64 bits, a hash of the key. The row proves the key: if two keys have the same
 *   number, every call for the second is rejected.
 * - It needs a direct connection. A pooler such as PgBouncer lends one session to several clients, and all of them would
 *   hold the lock. An acquire through a pooler is rejected.
 * - A failover to a standby ends all leases. If the old primary lives on, so do the leases there until it is shut down.
 *
 * @throws RangeError if the table name is not `table` or `schema.table` in lower case, TypeError for what is no address, options or pool.
 */
export function postgresAdvisoryLockStore(
  address: string | PostgresConnection | PostgresPool,
  { table = 'payonce_advisory_locks', connections = 4 }: PostgresAdvisoryLockOptions = {},
): LockStore {
  const sql = advisoryStatements(tableName(table, '"'));
  const { pool } = postgresSessions(address, connections);
  /** Ended sessions stay in it until somebody is told why. */
  const sessions = new Map<string, LeaseSession>();
  const numberOf = memoized((key) => String(keyNumber(table, key)));
  const idOf = (key: string, leaseId: string) => `${leaseId} ${key}`;

  /** Runs a statement outside the sessions of the leases. */
  function run(statement: string, values: readonly SqlValue[], signal: AbortSignal) {
    return pool.use(signal, (session) => orCreate(session, sql.schema, () => session.run(statement, values)));
  }

  async function look(key: string, signal: AbortSignal): Promise<LockView | undefined> {
    const { rows } = await run(sql.look, [numberOf(key)], signal);
    const [row] = viewRows(rows);
    if (row === undefined) return undefined;
    refuseCollision(row, key);
    return view(row);
  }

  function tellOnce(id: string, why: Refusal): Refusal {
    sessions.delete(id);
    return why;
  }

  async function renew(key: string, leaseId: string, leaseMs: number, signal: AbortSignal) {
    signal.throwIfAborted();
    const id = idOf(key, leaseId);
    const session = sessions.get(id);
    if (session === undefined) return noSession;
    session.leaseMs = leaseMs;
    const row = await session.ask(signal, sql.renew, numberOf(key), [String(leaseMs)]);
    if ('kind' in row) return tellOnce(id, row);
    if (row.lock_key === toAscii(key)) return 'renewed';
    session.end(rowGone);
    return tellOnce(id, rowGone);
  }

  return {
    traits,
    look,
    renew,
    isPermanent: postgresDenies,

    async create(key, signal) {
      for (let tries = 0; tries < 3; tries++) {
        await run(sql.create, [numberOf(key), toAscii(key), randomUUID()], signal);
        const there = await look(key, signal);
        if (there !== undefined) return there;
      }
      throw new Error(`Cannot create lock "${key}": it disappeared on each of 3 attempts`);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const number = numberOf(key);
      if ((await renew(key, leaseId, leaseMs, signal)) === 'renewed') return 'acquired';
      return pool.use(signal, async (connection, keep) => {
        const values = [number, connection.processId, toAscii(key), String(leaseMs)];
        const { rows } = await orCreate(connection, sql.schema, () => connection.run(sql.acquire, values));
        const [row] = attemptRows(rows);
        if (row === undefined) return 'absent';
        refuseCollision(row, key);
        if (row.locked === null) throw new RangeError(pooled);
        if (!row.locked) return 'held';
        // Aborted meanwhile: the pool has ended the session, and with it the lock.
        signal.throwIfAborted();
        keep();
        sessions.set(idOf(key, leaseId), leaseSession(connection, leaseMs));
        return 'acquired';
      });
    },

    async raise(key, leaseId, record, version, signal) {
      signal.throwIfAborted();
      const values = [rowVersion(version), randomUUID(), asciiJson(recordToText(record))];
      const id = idOf(key, leaseId);
      const session = sessions.get(id);
      if (session === undefined) return noSession;
      const row = await session.ask(signal, sql.raise, numberOf(key), values);
      if ('kind' in row) return tellOnce(id, row);
      return row.done ? 'raised' : 'changed';
    },

    async release(key, leaseId, signal) {
      signal.throwIfAborted();
      const id = idOf(key, leaseId);
      const session = sessions.get(id);
      if (session === undefined) return 'gone';
      // No later call finds it: its connection may soon serve others.
      sessions.delete(id);
      try {
        const row = await session.ask(signal, sql.release, numberOf(key));
        if ('kind' in row) return 'gone';
        pool.giveBack(session.leave());
        return 'released';
      } catch (error) {
        session.end();
        throw error;
      }
    },

    onEnd(key, leaseId, tell) {
      const id = idOf(key, leaseId);
      const session = sessions.get(id);
      if (session === undefined) tell(noSession);
      else void session.ended.then((why) => tell(tellOnce(id, why)));
    },

    async break(key, version, signal) {
      const { rows } = await run(sql.break, [numberOf(key), rowVersion(version)], signal);
      const [row] = breakRows(rows);
      if (row === undefined) return 'changed';
      if (row.pid === null) return 'notHeld';
      if (row.done) return 'broken';
      throw new Error(`The session of the holder of "${key}" has not ended yet`);
    },

    async *list(prefix, signal) {
      const beginning = toAscii(prefix);
      const { rows } = await run(sql.list, [beginning, beginning.length], signal);
      for (const row of viewRows(rows)) yield { key: fromAscii(row.lock_key), ...view(row) };
    },

    async [Symbol.asyncDispose]() {
      for (const session of sessions.values()) session.end();
      await pool[Symbol.asyncDispose]();
    },
  };
}

const pooled =
  'Advisory locks need a direct connection to PostgreSQL: here a pooler lends one session to several clients';

const noSession: Refusal = {
  kind: 'refused',
  reason: 'taken',
  detail: 'no session of this process keeps such a lease',
};
const rowGone: Refusal = { kind: 'refused', reason: 'deleted', detail: 'its row is gone' };

function refuseCollision({ lock_key }: { lock_key: string }, key: string): void {
  if (lock_key === toAscii(key)) return;
  throw new RangeError(
    `"${key}" and "${fromAscii(lock_key)}" have the same advisory lock: rename one of them`,
  );
}

function view({ held, record, version, now }: ViewRow): LockView {
  return { held, record: recordFromText(record), version, now };
}
