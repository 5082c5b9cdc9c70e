import type { LinePlace } from '@payonce/leases';
import { aborted } from '../untilAborted.ts';
import { type LockNodes, unnumbered, type WaiterNode } from './lockNodes.ts';
import { readLine } from './lockRequests.ts';
import type { ZooKeeperEnsemble } from './zooKeeperEnsemble.ts';
import { createNumbered, multi, remove, watchNode, type ZooKeeperAcl } from './zooKeeperRequests.ts';

/**
 * The places of this process's waiters. Each is a node in the session of the shared connection. A request without an answer ends that
 * connection, and so the session: a node of which nobody knows ends, too.
 */
export interface LockLine {
  /** Keeps the place of a waiter, or gives it one at the end of the line, which was just read. */
  keep: (
    nodes: LockNodes,
    place: LinePlace,
    line: readonly WaiterNode[],
    signal: AbortSignal,
  ) => Promise<void>;
  /** The waiter has the lock, and its node is removed. */
  took: (ticket: string) => void;
  /** Removes the node of a waiter. Never rejects. */
  leave: (ticket: string) => Promise<void>;
  /**
   * Resolves once the waiter is the first and no session has the lease, as far as the server of the shared connection knows, or `over`
   * aborts. Never rejects.
   */
  turn: (nodes: LockNodes, ticket: string, over: AbortSignal) => Promise<void>;
}

/** Time limit of the requests that begin to watch (ms). */
const watchWithinMs = 5_000;
/** Least time for which a place is kept without another take (ms): each new one is a write. */
const leastKeptMs = 2_000;
/** Time limit of leaving the line (ms). */
const leaveMs = 2_000;

export function lockLine(ensemble: ZooKeeperEnsemble, acl: ZooKeeperAcl): LockLine {
  const places = new Map<string, { path: string; end: NodeJS.Timeout }>();

  function forget(ticket: string): string | undefined {
    const place = places.get(ticket);
    places.delete(ticket);
    clearTimeout(place?.end);
    return place?.path;
  }

  async function leave(ticket: string): Promise<void> {
    const path = forget(ticket);
    if (path === undefined) return;
    const limit = AbortSignal.timeout(leaveMs);
    const request = multi([remove(path)]);
    await ensemble
      .shared(limit)
      .then((connection) => connection.send(request, limit))
      .catch(() => {});
  }

  async function watch(nodes: LockNodes, ticket: string, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      // Not `over`: a request that is aborted ends the connection, which others use too.
      const limit = AbortSignal.timeout(watchWithinMs);
      const connection = await ensemble.shared(limit);
      const line = await readLine(nodes, connection, limit);
      const at = line.findIndex((waiter) => waiter.ticket === ticket);
      // The next take gives it another place.
      if (at === -1) return aborted(over);
      const before = line[at - 1]?.path ?? nodes.lease;
      const change = Promise.withResolvers<void>();
      over.addEventListener('abort', connection.onChange(before, change.resolve), { once: true });
      if ((await connection.send(watchNode(before), limit)) !== undefined) await change.promise;
      else if (at === 0) return;
    }
  }

  return {
    async keep(nodes, { ticket, keptMs }, line, signal) {
      const known = forget(ticket);
      const own = line.filter((waiter) => waiter.ticket === ticket).map(({ path }) => path);
      const there = known !== undefined && own.includes(known) ? known : own[0];
      const path =
        there ??
        (await (await ensemble.shared(signal)).send(createNumbered(unnumbered(nodes, ticket), acl), signal));
      if (path === undefined) return;
      places.set(ticket, {
        path,
        end: setTimeout(() => void leave(ticket), Math.max(leastKeptMs, keptMs)).unref(),
      });
    },

    took: forget,
    leave,

    async turn(nodes, ticket, over) {
      const ended = aborted(over);
      await Promise.race([ended, watch(nodes, ticket, over).catch(() => ended)]);
    },
  };
}
