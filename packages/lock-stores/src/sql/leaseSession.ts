import type { Refusal } from '@payonce/leases';
import { type SessionRow, sessionRows } from '../postgres/advisoryStatements.ts';
import { type PostgresSession, sqlState } from '../postgres/postgresConnection.ts';
import { untilAborted } from '../untilAborted.ts';
import type { SqlValue } from './sqlConnection.ts';

/** A session of one lease, which has the lock for as long as it lives. */
export interface LeaseSession {
  /** Longest silence before the session ends (ms). A change counts from the next answer on. */
  leaseMs: number;
  /**
   * Runs a statement, after those before it. One whose signal aborts while it waits is not sent. One that was sent and given
   * up leaves the session as it is, since a slow answer does not end a lease. Refused if the session has ended; it ends if
   * another one answers.
   */
  ask: (
    signal: AbortSignal,
    statement: string,
    number: string,
    values?: readonly SqlValue[],
  ) => Promise<SessionRow | Refusal>;
  /** Ends the session, and with it the lock. */
  end: (why?: Refusal) => void;
  /** Resolves when the session has ended, whoever ended it. Never after `leave`. */
  ended: Promise<Refusal>;
  /** The connection, once the lock is released. */
  leave: () => PostgresSession;
}

/**
 * It ends by itself when it has been silent for the length of its lease: so does the server, but a broken network may not
 * pass that on.
 */
export function leaseSession(connection: PostgresSession, leaseMs: number): LeaseSession {
  let last: Promise<unknown> = Promise.resolve();
  let silence = setTimeout(end, leaseMs).unref();
  const ended = Promise.withResolvers<Refusal>();
  const lost = () => end(whyEnded(connection.ended.reason));
  connection.ended.addEventListener('abort', lost, { once: true });
  // The end may have come with the answer that gave it the lock.
  if (connection.ended.aborted) lost();

  function end(why: Refusal = silent): void {
    ended.resolve(why);
    leave();
    connection.destroy();
  }

  function leave(): PostgresSession {
    clearTimeout(silence);
    connection.ended.removeEventListener('abort', lost);
    return connection;
  }

  const session: LeaseSession = {
    leaseMs,
    async ask(signal, statement, number, values = []) {
      const answered = last.then(() => {
        signal.throwIfAborted();
        connection.ended.throwIfAborted();
        return connection.run(statement, [number, connection.processId, ...values]);
      });
      last = answered.catch(() => {});
      try {
        const { rows } = await untilAborted(signal, () => answered);
        const [row] = sessionRows(rows);
        if (row === undefined) throw new TypeError('a statement of a session answered without a row');
        if (!row.own) {
          end(lent);
          return lent;
        }
        clearTimeout(silence);
        silence = setTimeout(end, session.leaseMs).unref();
        return row;
      } catch (error) {
        if (!connection.ended.aborted) throw error;
        return ended.promise;
      }
    },
    end,
    ended: ended.promise,
    leave,
  };
  return session;
}

const silent: Refusal = { kind: 'refused', reason: 'taken', detail: 'its session was silent for too long' };
const lent: Refusal = { kind: 'refused', reason: 'taken', detail: 'a pooler has changed its session' };

/** `pg_terminate_backend`, or a server that shuts down. */
const adminShutdown = '57P01';

function whyEnded(reason: unknown): Refusal {
  const detail = `its session has ended: ${reason instanceof Error ? reason.message : String(reason)}`;
  return { kind: 'refused', reason: sqlState(reason) === adminShutdown ? 'broken' : 'taken', detail };
}
