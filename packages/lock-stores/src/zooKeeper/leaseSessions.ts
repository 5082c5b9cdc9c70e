import { isOurs, type LockNodes } from './lockNodes.ts';
import { readLock } from './lockRequests.ts';
import type { ZooKeeperConnection } from './zooKeeperConnection.ts';
import type { ZooKeeperEnsemble } from './zooKeeperEnsemble.ts';
import { closeSession, existsNode, multi, sync } from './zooKeeperRequests.ts';

/** A lease that this process has acquired, or tried to: a session whose timeout is its length. */
export interface ZooKeeperLeaseSession {
  nodes: LockNodes;
  connection: ZooKeeperConnection;
  /** Version of the lock's tenure node since the acquire; undefined while no answer has confirmed it. */
  tenure: number | undefined;
  /** The session of another length that had the lock before. It may still have it while `tenure` is undefined. */
  former: ZooKeeperLeaseSession | undefined;
  /** When the session's time last began anew, in milliseconds on the monotonic clock. */
  restartedAt: number;
}

/** The sessions of this process's leases. Their names are of a key and a lease id. */
export interface LeaseSessions extends AsyncDisposable {
  find: (name: string) => ZooKeeperLeaseSession | undefined;
  /** The session that had the lock at last, after an acquire that may have got no answer. */
  settle: (name: string, signal: AbortSignal) => Promise<ZooKeeperLeaseSession | undefined>;
  /** Starts a session of `timeoutMs` in the place of the former one, which lives on. */
  start: (
    name: string,
    nodes: LockNodes,
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<ZooKeeperLeaseSession>;
  /** The session has got the lock. */
  took: (session: ZooKeeperLeaseSession, tenure: number | undefined) => void;
  /** Restarts the time of a lease. False if it has ended. */
  keep: (session: ZooKeeperLeaseSession, signal: AbortSignal) => Promise<boolean>;
  /** Connects anew if the connection is lost. False if the session has ended. */
  connect: (session: ZooKeeperLeaseSession, signal: AbortSignal) => Promise<boolean>;
  /** Ends the session, and with it what it holds, and forgets it. */
  end: (name: string, signal: AbortSignal) => Promise<void>;
}

const disposedWithinMs = 2_000;

export function leaseSessions(ensemble: ZooKeeperEnsemble): LeaseSessions {
  const sessions = new Map<string, ZooKeeperLeaseSession>();

  async function restart(session: ZooKeeperLeaseSession, signal: AbortSignal): Promise<boolean> {
    const restartedAt = performance.now();
    const connection = await ensemble.resume(session.connection, signal);
    if (connection === 'expired') return false;
    Object.assign(session, { connection, restartedAt });
    return true;
  }

  async function connect(session: ZooKeeperLeaseSession, signal: AbortSignal): Promise<boolean> {
    return session.connection.isOpen() || restart(session, signal);
  }

  async function close(session: ZooKeeperLeaseSession, signal: AbortSignal): Promise<void> {
    if (await connect(session, signal)) await session.connection.send(closeSession, signal);
    session.connection.destroy();
  }

  async function end(name: string, signal: AbortSignal): Promise<void> {
    for (let last = sessions.get(name); last !== undefined; last = sessions.get(name))
      await undo(name, last, signal);
  }

  /** Ends the last session of a lease. The former one is the last again. */
  async function undo(name: string, last: ZooKeeperLeaseSession, signal: AbortSignal): Promise<void> {
    await close(last, signal);
    if (last.former === undefined) sessions.delete(name);
    else sessions.set(name, last.former);
  }

  function took(session: ZooKeeperLeaseSession, tenure: number | undefined): void {
    session.tenure = tenure;
    // It holds nothing any more, and would end by itself.
    session.former?.connection.send(closeSession, AbortSignal.timeout(disposedWithinMs)).catch(() => {});
    session.former = undefined;
  }

  /** Forgets sessions that ended long ago, since nobody releases a lease that is lost. */
  function forgetEnded(): void {
    for (const [name, { connection, restartedAt, former }] of sessions) {
      if (performance.now() - restartedAt < 2 * connection.session.timeoutMs) continue;
      connection.destroy();
      former?.connection.destroy();
      sessions.delete(name);
    }
  }

  return {
    find: (name) => sessions.get(name),

    async settle(name, signal) {
      const last = sessions.get(name);
      if (last === undefined || last.tenure !== undefined) return last;
      const shared = await ensemble.shared(signal);
      // The tenure first: if the session has the lock afterwards, nobody else can have got it in between.
      const [, tenure, seen] = await Promise.all([
        shared.send(sync(last.nodes.lock), signal),
        shared.send(existsNode(last.nodes.tenure), signal),
        readLock(last.nodes, shared, signal),
      ]);
      if (seen?.lease?.ephemeralOwner === last.connection.session.id) took(last, tenure?.version);
      else await undo(name, last, signal);
      return sessions.get(name);
    },

    async start(name, nodes, timeoutMs, signal) {
      forgetEnded();
      const former = sessions.get(name);
      const restartedAt = performance.now();
      const connection = await ensemble.start(timeoutMs, signal);
      const session = { nodes, connection, tenure: undefined, former, restartedAt };
      sessions.set(name, session);
      return session;
    },

    took,

    async keep(session, signal) {
      const { tenure } = session;
      if (tenure === undefined || !(await restart(session, signal))) return false;
      // That a majority agrees proves that the leader which was asked about the session is the leader still.
      const { kind } = await session.connection.send(multi(isOurs(session.nodes, tenure)), signal);
      return kind === 'done';
    },

    connect,
    end,

    async [Symbol.asyncDispose]() {
      const signal = AbortSignal.timeout(disposedWithinMs);
      await Promise.allSettled([...sessions.keys()].map((name) => end(name, signal)));
      for (const { connection } of sessions.values()) connection.destroy();
      sessions.clear();
    },
  };
}
