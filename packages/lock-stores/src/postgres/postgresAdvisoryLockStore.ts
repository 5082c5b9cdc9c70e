import { randomUUID } from 'node:crypto';
import type { LinePlace, LockRequest, LockStore, LockView, Refusal, StoreTraits } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { recordFromText, recordTail, recordToText } from '../recordText.ts';
import { type LeaseSession, leaseSession } from '../sql/leaseSession.ts';
import { asciiJson, fromAscii, keyNumber, rowVersion, tableName, toAscii } from '../sql/lockNames.ts';
import type { SqlValue } from '../sql/sqlConnection.ts';
import { untilAborted } from '../untilAborted.ts';
import { waiters } from '../waiters.ts';
import {
  advisoryStatements,
  attemptRows,
  breakRows,
  forgetRows,
  longestWaitMs,
  type SessionRow,
  sessionRows,
  type ViewRow,
  viewRows,
} from './advisoryStatements.ts';
import {
  orCreate,
  type PostgresConnection,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresSession,
  postgresDenies,
  postgresSessions,
  sqlState,
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

/** A waiter, which the server queues in a session of its own. */
interface QueuedWaiter {
  connection: PostgresSession;
  granted: boolean;
  /** The lease that it last asked for. */
  lease: string;
  leaveAtEnd: () => void;
}

/**
 * A lock store on the advisory locks of PostgreSQL 14 or later, of an address, options of `pg`, or a `Pool` of your own, which is
 * never closed and must lend a connection for each lease. Each lease has a connection of its own, whose session holds
 * the lock: mind `max_connections`.
 *
 * - A lease ends with its session: at once if its process dies or its connection breaks, and after the length of the lease
 *   if nothing is heard of it (`idle_session_timeout`, by a timer of the server). No clock plays a role. The holder loses it
 *   when it learns that the connection has ended. A network that tells only the server leaves it in the dark until its next
 *   renewal: there the fence decides.
 * - The fence is in a row, written by the session that holds the lock. A cycle of acquire and release is two statements.
 * - The name of an advisory lock is a number of 64 bits, a hash of the key. The row proves the key: if two keys have the same
 *   number, every call for the second is rejected.
 * - Waiters get the lock in the order of asking, asked anew every four seconds: each has a session of its own, in which PostgreSQL
 *   queues it. On a `Pool` of your own they look again instead, since they would occupy it.
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
  const isLent = typeof address === 'object' && 'totalCount' in address;
  /** Ended sessions stay in it until somebody is told why. */
  const sessions = new Map<string, LeaseSession>();
  const line = waiters();
  /** By ticket. */
  const queued = new Map<string, QueuedWaiter>();
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

  /** Waits for the lock in this session until it has it, or has ended. */
  async function queue(
    connection: PostgresSession,
    key: string,
    lease: string,
    { ticket, keptMs }: LinePlace,
  ): Promise<void> {
    const leaveAtEnd = () => leave(ticket);
    const place: QueuedWaiter = { connection, granted: false, lease, leaveAtEnd };
    const waits = () => !place.granted && queued.get(ticket) === place;
    const giveUp = () => waits() && leave(ticket);
    queued.set(ticket, place);
    line.place(ticket, true);
    connection.ended.addEventListener('abort', leaveAtEnd, { once: true });
    while (waits()) {
      // A connection that dies silently would make it wait for as long as TCP tries.
      const waited = untilAborted(AbortSignal.timeout(longestWaitMs + 5_000), () =>
        connection.run(sql.wait, [numberOf(key), connection.processId, String(keptMs)]),
      );
      await waited.then(
        ({ rows }) => (rows.length > 0 ? (place.granted = true) : giveUp()),
        (error: unknown) => waitedInVain.includes(sqlState(error)) || giveUp(),
      );
    }
    line.call(ticket);
  }

  function dequeue(ticket: string): QueuedWaiter | undefined {
    const place = queued.get(ticket);
    queued.delete(ticket);
    line.place(ticket, false);
    // The session serves others after the lease.
    place?.connection.ended.removeEventListener('abort', place.leaveAtEnd);
    return place;
  }

  /** Ends the session of a waiter. The server may queue it for a few seconds more. */
  function leave(ticket: string): void {
    const place = dequeue(ticket);
    line.call(ticket);
    place?.connection.destroy();
  }

  async function take(
    key: string,
    leaseId: string,
    { leaseMs, record, place }: LockRequest,
    signal: AbortSignal,
  ): Promise<number | 'held'> {
    const number = numberOf(key);
    const id = idOf(key, leaseId);
    const tail = record === undefined ? null : asciiJson(recordTail({ ...record, leaseMs }));
    const values = (isOurs: boolean) => {
      return [toAscii(key), String(leaseMs), String(isOurs), record?.floor ?? 0, tail, randomUUID()];
    };

    async function ask(connection: PostgresSession, isOurs: boolean): Promise<SessionRow | undefined> {
      const all = [number, connection.processId, ...values(isOurs)];
      const { rows } = await orCreate(connection, sql.schema, () => connection.run(sql.take, all));
      return sessionRows(rows)[0];
    }

    function counted(row: SessionRow | Refusal | undefined): number {
      const [done, fence] = row === undefined || 'kind' in row ? [] : [row.done, row.fence];
      if (done === true && (tail === null || Number(fence) > 0)) return fence ?? 0;
      throw new Error(`Cannot take lock "${key}": it disappeared meanwhile`);
    }

    function kept(connection: PostgresSession, fence: number): number {
      // Aborted meanwhile: its session is ended, and with it the lock.
      signal.throwIfAborted();
      sessions.set(id, leaseSession(connection, leaseMs));
      return fence;
    }

    if ((await renew(key, leaseId, leaseMs, signal)) === 'renewed')
      return counted(await sessions.get(id)?.ask(signal, sql.take, number, values(true)));

    const waiter = place && queued.get(place.ticket);
    if (place !== undefined && waiter !== undefined) {
      waiter.lease = id;
      if (!waiter.granted) return 'held';
      try {
        const row = await untilAborted(signal, () => ask(waiter.connection, true));
        const fence = kept(waiter.connection, counted(row));
        dequeue(place.ticket);
        return fence;
      } catch (error) {
        leave(place.ticket);
        throw error;
      }
    }

    const taken = await pool.use(signal, async (connection, keep) => {
      let row = await ask(connection, false);
      if (row === undefined) {
        await connection.run(sql.create, [number, toAscii(key), randomUUID()]);
        row = await ask(connection, false);
      }
      if (typeof row?.lock_key === 'string') refuseCollision({ lock_key: row.lock_key }, key);
      if (row?.done === null) throw new RangeError(pooled);
      if (row?.done !== false) {
        const fence = kept(connection, counted(row));
        keep();
        return fence;
      }
      signal.throwIfAborted();
      if (place !== undefined) {
        keep();
        void queue(connection, key, id, place);
      }
      return 'held';
    });
    // Its place begins when the server has it, not when it was asked for.
    for (let known = false; place !== undefined && !known;) {
      const waits = queued.get(place.ticket);
      known =
        waits === undefined || (await run(sql.queued, [waits.connection.processId], signal)).rows.length > 0;
    }
    return taken;
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
      const id = idOf(key, leaseId);
      for (const [ticket, { granted, lease }] of queued) {
        if (!granted || lease !== id) continue;
        await take(key, leaseId, { leaseMs, place: { ticket, keptMs: leaseMs } }, signal);
        return 'acquired';
      }
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
        sessions.set(id, leaseSession(connection, leaseMs));
        return 'acquired';
      });
    },

    take,

    ...(isLent
      ? {}
      : {
          async wait(key) {
            numberOf(key);
            return line.add(async (ticket) => leave(ticket));
          },
        }),

    async forget(key, version, signal) {
      const { rows } = await run(sql.forget, [numberOf(key), toAscii(key), rowVersion(version)], signal);
      const [row] = forgetRows(rows);
      if (row === undefined || row.done) return 'forgotten';
      return row.free ? 'changed' : 'held';
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
      for (const ticket of queued.keys()) leave(ticket);
      await pool[Symbol.asyncDispose]();
    },
  };
}

const pooled =
  'Advisory locks need a direct connection to PostgreSQL: here a pooler lends one session to several clients';

/** `lock_timeout` or `statement_timeout`. */
const waitedInVain: readonly (string | undefined)[] = ['55P03', '57014'];

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
