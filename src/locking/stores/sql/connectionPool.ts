import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { untilAborted } from '../untilAborted.ts';
import type { ConnectSql, SqlConnection } from './sqlConnection.ts';

/** Milliseconds that a server has to answer a goodbye. */
const goodbyeMs = 1_000;

export interface ConnectionPool extends AsyncDisposable {
  /**
   * Runs `work` on a connection that nobody else uses meanwhile. If it calls `keep`, the connection is its own from then
   * on, and may come back through `giveBack`.
   */
  use: <T>(
    signal: AbortSignal,
    work: (connection: SqlConnection, keep: () => void) => Promise<T>,
  ) => Promise<T>;
  giveBack: (connection: SqlConnection) => void;
}

/**
 * Connections that are used again, at most `most` at a time. It differs from the drivers' own pools in how it treats a
 * failure: work that failed or was given up ends its connection, so that no statement of it runs later under somebody
 * else's call, and ends the idle ones too, since a network that has swallowed one has probably swallowed them all. A driver's
 * pool would hand out one dead connection after the other, and each costs a renewal.
 */
export function connectionPool(connect: ConnectSql, most: number): ConnectionPool {
  const idle: SqlConnection[] = [];
  const open = new Set<SqlConnection>();
  const limit = pLimit(most);
  let disposed = false;

  async function take(signal: AbortSignal): Promise<SqlConnection> {
    signal.throwIfAborted();
    if (disposed) throw new Error('The lock store is disposed');
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      if (!kept.ended.aborted) return kept;
    }
    const connection = await connect(signal);
    open.add(connection);
    connection.ended.addEventListener('abort', () => open.delete(connection), { once: true });
    return connection;
  }

  function giveBack(connection: SqlConnection): void {
    if (connection.ended.aborted) return;
    if (idle.length < most && !disposed) idle.push(connection);
    else connection.destroy();
  }

  async function run<T>(
    signal: AbortSignal,
    work: (connection: SqlConnection, keep: () => void) => Promise<T>,
  ): Promise<T> {
    const connection = await take(signal);
    let kept = false;
    try {
      const result = await untilAborted(signal, () => work(connection, () => (kept = true)));
      if (!kept) giveBack(connection);
      return result;
    } catch (error) {
      connection.destroy();
      for (const other of idle.splice(0)) other.destroy();
      throw error;
    }
  }

  return {
    use: (signal, work) => untilAborted(signal, () => limit(() => run(signal, work))),
    giveBack,
    async [Symbol.asyncDispose]() {
      disposed = true;
      const leaving = [...open];
      const busy = leaving.filter((connection) => !idle.includes(connection));
      for (const connection of busy) connection.destroy();
      const goodbyes = Promise.allSettled(idle.splice(0).map((connection) => connection.close()));
      await Promise.race([goodbyes, delay(goodbyeMs, undefined, { ref: false })]);
      for (const connection of leaving) connection.destroy();
    },
  };
}
