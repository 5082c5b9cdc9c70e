import pLimit from 'p-limit';
import { untilAborted } from '../untilAborted.ts';
import type { SqlConnection } from './sqlConnection.ts';

/** Milliseconds that a server has to answer a goodbye. */
const goodbyeMs = 1_000;

export interface ConnectionPool<C extends SqlConnection> extends AsyncDisposable {
  /**
   * Runs `work` on a connection that nobody else uses meanwhile. If it calls `keep`, the connection is its own from then
   * on, and may come back through `giveBack`.
   */
  use: <T>(signal: AbortSignal, work: (connection: C, keep: () => void) => Promise<T>) => Promise<T>;
  giveBack: (connection: C) => void;
}

/**
 * Connections that are used again, at most `most` at a time, of which `mostIdle` stay open while nobody uses them. `connect` leaves no connection behind when its signal aborts.
 * The pool differs from the drivers' own pools in how it treats a
 * failure: work that failed or was aborted ends its connection, so that no statement of it runs later under somebody
 * else's call, and ends the idle ones too, since a network that has swallowed one has probably swallowed them all. A driver's
 * pool would hand out one dead connection after the other, and each costs a renewal.
 */
export function connectionPool<C extends SqlConnection>(
  connect: (signal: AbortSignal) => Promise<C>,
  most: number,
  mostIdle = most,
): ConnectionPool<C> {
  const idle: C[] = [];
  const open = new Set<C>();
  const limit = pLimit(most);
  let disposed = false;

  async function take(signal: AbortSignal): Promise<C> {
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

  function giveBack(connection: C): void {
    if (connection.ended.aborted) return;
    if (idle.length < mostIdle && !disposed) {
      idle.push(connection);
      return;
    }
    // A pool that lends its connections does not end them.
    open.delete(connection);
    void connection.close().catch(connection.destroy);
  }

  async function run<T>(
    signal: AbortSignal,
    work: (connection: C, keep: () => void) => Promise<T>,
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
    use(signal, work) {
      const start = () => limit(() => run(signal, work));
      const free = limit.activeCount < most && limit.pendingCount === 0;
      return free ? start() : untilAborted(signal, start);
    },
    giveBack,
    async [Symbol.asyncDispose]() {
      disposed = true;
      const leaving = [...open];
      const busy = leaving.filter((connection) => !idle.includes(connection));
      for (const connection of busy) connection.destroy();
      const goodbyes = () => Promise.allSettled(idle.splice(0).map((connection) => connection.close()));
      await untilAborted(AbortSignal.timeout(goodbyeMs), goodbyes).catch(() => {});
      for (const connection of leaving) connection.destroy();
    },
  };
}

/** Connection lent by somebody else's pool. If nobody waits for it any more, it is returned at once. */
export async function lent<C extends { release(): void }>(
  lending: Promise<C>,
  signal: AbortSignal,
): Promise<C> {
  try {
    return await untilAborted(signal, () => lending);
  } catch (error) {
    lending.then(
      (late) => late.release(),
      () => {},
    );
    throw error;
  }
}
