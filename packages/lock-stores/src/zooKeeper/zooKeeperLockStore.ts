import { randomUUID } from 'node:crypto';
import type { LockRequest, LockStore, Refusal, StoreTraits } from '@payonce/leases';
import { checkOwner, nextFence } from '@payonce/leases';
import { recordFromText, recordToText } from '../recordText.ts';
import { leaseSessions } from './leaseSessions.ts';
import { lockLine } from './lockLine.ts';
import { brokenLeaseData, isFirst, isOurs, nodesOf, versionOfNode, viewOfNode } from './lockNodes.ts';
import { createLock, listLocks, readLine, readLock, refusalOfLease } from './lockRequests.ts';
import { type ZooKeeperAccess, ZooKeeperRefused } from './zooKeeperConnection.ts';
import { zooKeeperEnsemble } from './zooKeeperEnsemble.ts';
import {
  check,
  createNode,
  existsNode,
  getData,
  multi,
  remove,
  setData,
  sync,
  zooKeeperCode,
} from './zooKeeperRequests.ts';

export interface ZooKeeperLockOptions extends ZooKeeperAccess {
  /** The node below which the locks are. It is created if it is missing. Default: `/payonce/locks`. */
  root?: string;
  /** The servers' `tickTime`, in milliseconds. Default: 2,000, as in ZooKeeper's own sample. */
  tickMs?: number;
}

/**
 * A server grants sessions of 2 to 20 ticks, and ends them at the next full tick
 * (https://zookeeper.apache.org/doc/r3.8.0/zookeeperAdmin.html). A second more is for a busy machine.
 */
export function zooKeeperTraits(tickMs: number): StoreTraits {
  return {
    lease: { minMs: 2 * tickMs, maxMs: 20 * tickMs, stepMs: 1 },
    expiryLagMs: tickMs + 1_000,
    keptBy: 'connection',
    looks: 'anyone',
  };
}

/**
 * Locks on ZooKeeper (tested: 3.8). `connectString` is `host:port,host:port/chroot`, as other clients have it. A failed call
 * moves the next one to the next server.
 *
 * - A lease is a session of its own, whose timeout is the length of the lease, and a node that ends with it.
 * - The lease ends at the next tick after its time. A lost connection does not end it: the next renewal connects to the same
 *   session. After a change of leader its time starts anew, so it ends late, never early.
 * - Each renewal connects anew. A server that is not the leader tells it only twice a tick of requests on a connection, and
 *   forgets them if it dies: the session then ends early. It asks the leader about a session that connects.
 * - Waiters get a lock in the order in which their nodes were created; each watches the one before it, the first the lease. Whoever
 *   does not wait gets it only if nobody does. The order decides who is next, never who holds the lock: an `acquire` of this
 *   store, as a quorum makes them, passes all of them.
 * - A place ends with the session of its process, 3 s after it crashed (or two ticks, if they are more) and up to a tick late. So it does
 *   after a request without an answer or a lost connection: the waiter then goes to the end.
 * - The fence is in the data of the lock's node, written in one transaction that checks the lease and the version.
 * - The servers need a `tickTime` for the leases, and a `maxClientCnxns` (60 by default) above the locks that one machine
 *   holds at once, each with a connection. Without `digest` anyone who reaches the servers may do everything.
 * - What breaks it: data deleted or restored in a running system frees what is held, and only the holders' clocks make new
 *   fences rise. So does an ensemble with `forceSync=no` that loses its power. ClickHouse Keeper does not resume sessions: there a lease is lost at its first
 *   renewal (https://github.com/ClickHouse/ClickHouse/issues/116690).
 */
export function zooKeeperLockStore(
  connectString: string,
  { root: below = '/payonce/locks', tickMs = 2_000, ...access }: ZooKeeperLockOptions = {},
): LockStore {
  const ensemble = zooKeeperEnsemble(connectString, access);
  const acl = access.digest === undefined ? 'open' : 'own';
  const sessions = leaseSessions(ensemble);
  const line = lockLine(ensemble, acl);
  const root = ensemble.chroot + below;

  /**
   * Takes the lock and counts the fence in one transaction. `whenFree`: although others may wait for it. `inTurn`: not before those.
   * Resolves with the fence, 0 without a record.
   */
  async function grant(
    key: string,
    leaseId: string,
    { leaseMs, record, place }: LockRequest,
    order: 'whenFree' | 'inTurn',
    signal: AbortSignal,
  ): Promise<number | 'held' | 'absent'> {
    const nodes = nodesOf(root, key);
    const name = nameOf(key, leaseId);
    let ours = await sessions.settle(name, signal);
    const again = ours?.connection.session.timeoutMs === leaseMs;
    if (ours !== undefined && again && !(await sessions.keep(ours, signal))) {
      await sessions.end(name, signal);
      ours = undefined;
    }
    const kept = again ? ours : undefined;
    if (kept !== undefined && record === undefined) return 0;
    const shared = await ensemble.shared(signal);
    const [seen, waiting] = await Promise.all([
      readLock(nodes, shared, signal),
      place === undefined ? [] : readLine(nodes, shared, signal),
    ]);
    if (seen === undefined) return 'absent';
    const owner = seen.lease?.ephemeralOwner;
    const isHeld = owner !== undefined && owner !== ours?.connection.session.id;
    const isFree = owner === undefined;
    // A lock that has more below it than its tenure had a lease or a waiter when it was read.
    const passes = place === undefined ? seen.stat.children > 1 : !isFirst(waiting, place);
    if (isHeld || (isFree && passes && order === 'inTurn')) {
      if (place !== undefined) await line.keep(nodes, place, waiting, signal);
      return 'held';
    }
    const fence = record && nextFence(recordFromText(seen.data)?.fence, Date.now(), record.floor);
    // A session keeps its length. The lock goes to one of another length without being free in between.
    const tenure = isFree ? undefined : ours?.tenure;
    const session = kept ?? (await sessions.start(name, nodes, leaseMs, signal));
    const answer = await session.connection.send(
      multi([
        ...(tenure === undefined ? [] : [...isOurs(nodes, tenure), remove(nodes.lease)]),
        createNode(nodes.lease, leaseId, 'with the session', acl),
        setData(nodes.tenure, leaseId),
        ...(record === undefined || fence === undefined
          ? []
          : [setData(nodes.lock, recordToText({ ...record, fence, leaseMs }), seen.stat.version)]),
        ...waiting.filter(({ ticket }) => ticket === place?.ticket).map(({ path }) => remove(path)),
      ]),
      signal,
    );
    if (answer.kind === 'done') {
      sessions.took(session, answer.stats[0]?.version);
      if (place !== undefined) line.took(place.ticket);
      return fence ?? 0;
    }
    await sessions.end(name, signal);
    if (!changedMeanwhile.includes(answer.code)) throw new ZooKeeperRefused(answer.code);
    return answer.code === zooKeeperCode.noNode && isFree ? 'absent' : 'held';
  }

  /** Ends the session of a lease that is lost, and says why it is. */
  async function lost(key: string, leaseId: string, signal: AbortSignal): Promise<Refusal> {
    await sessions.end(nameOf(key, leaseId), signal);
    return refusalOfLease(nodesOf(root, key), await ensemble.shared(signal), signal);
  }

  return {
    traits: zooKeeperTraits(tickMs),
    isPermanent: (error) => error instanceof ZooKeeperRefused && error.code === zooKeeperCode.notAllowed,

    async look(key, signal) {
      const seen = await readLock(nodesOf(root, key), await ensemble.shared(signal), signal);
      return seen && viewOfNode(seen);
    },

    async create(key, signal) {
      const nodes = nodesOf(root, key);
      const connection = await ensemble.shared(signal);
      await createLock(root, nodes, acl, connection, signal);
      const seen = await readLock(nodes, connection, signal);
      if (seen === undefined) throw new Error(`ZooKeeper has no lock "${key}" after it was created`);
      return viewOfNode(seen);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const taken = await grant(key, leaseId, { leaseMs }, 'whenFree', signal);
      return typeof taken === 'number' ? 'acquired' : taken;
    },

    async take(key, leaseId, request, signal) {
      const nodes = nodesOf(root, key);
      if (request.record !== undefined) checkOwner(request.record.owner);
      const taken = await grant(key, leaseId, request, 'inTurn', signal);
      if (taken !== 'absent') return taken;
      await createLock(root, nodes, acl, await ensemble.shared(signal), signal);
      const again = await grant(key, leaseId, request, 'inTurn', signal);
      return again === 'absent' ? 'held' : again;
    },

    async wait(key) {
      const nodes = nodesOf(root, key);
      const ticket = randomUUID();
      return {
        ticket,
        called: (signal) => line.turn(nodes, ticket, signal),
        [Symbol.asyncDispose]: () => line.leave(ticket),
      };
    },

    async raise(key, leaseId, record, version, signal) {
      const nodes = nodesOf(root, key);
      const data = recordToText(record);
      const session = sessions.find(nameOf(key, leaseId));
      if (session?.tenure === undefined) return notOurs;
      if (!(await sessions.connect(session, signal))) return lost(key, leaseId, signal);
      const stat = await session.connection.send(existsNode(nodes.lock), signal);
      if (stat === undefined || versionOfNode(stat) !== version) return 'changed';
      const write = [...isOurs(nodes, session.tenure), setData(nodes.lock, data, stat.version)];
      const answer = await session.connection.send(multi(write), signal);
      if (answer.kind === 'done') return 'raised';
      return answer.operation === write.length - 1 ? 'changed' : lost(key, leaseId, signal);
    },

    async renew(key, leaseId, _leaseMs, signal) {
      const session = sessions.find(nameOf(key, leaseId));
      if (session === undefined) return notOurs;
      return (await sessions.keep(session, signal)) ? 'renewed' : lost(key, leaseId, signal);
    },

    async release(key, leaseId, signal) {
      const session = sessions.find(nameOf(key, leaseId));
      if (session === undefined || !(await sessions.connect(session, signal))) return 'gone';
      const { lease } = nodesOf(root, key);
      const [stat] = await Promise.all([
        session.connection.send(existsNode(lease), signal),
        sessions.end(nameOf(key, leaseId), signal),
      ]);
      return stat?.ephemeralOwner === session.connection.session.id ? 'released' : 'gone';
    },

    async break(key, version, signal) {
      const nodes = nodesOf(root, key);
      const seen = await readLock(nodes, await ensemble.shared(signal), signal);
      if (seen === undefined || versionOfNode(seen.stat) !== version) return 'changed';
      if (seen.lease === undefined) return 'notHeld';
      const operations = [
        check(nodes.lock, seen.stat.version),
        remove(nodes.lease),
        setData(nodes.tenure, brokenLeaseData),
      ];
      const answer = await (await ensemble.shared(signal)).send(multi(operations), signal);
      if (answer.kind === 'done') return 'broken';
      return answer.operation === 1 ? 'notHeld' : 'changed';
    },

    async forget(key, version, signal) {
      const nodes = nodesOf(root, key);
      const connection = await ensemble.shared(signal);
      const [, last, seen] = await Promise.all([
        connection.send(sync(nodes.lock), signal),
        connection.send(getData(nodes.tenure), signal),
        readLock(nodes, connection, signal),
      ]);
      if (seen === undefined || last === undefined) return 'forgotten';
      // New nodes count their versions anew, and the holder of a broken lease may be told of the break by a version only.
      if (seen.lease !== undefined || last.data === brokenLeaseData) return 'held';
      if (versionOfNode(seen.stat) !== version) return 'changed';
      const checks = [check(nodes.tenure, last.stat.version), check(nodes.lock, seen.stat.version)];
      const answer = await connection.send(
        multi([...checks, remove(nodes.tenure), remove(nodes.lock)]),
        signal,
      );
      if (answer.kind === 'done') return 'forgotten';
      return answer.code === zooKeeperCode.notEmpty ? 'held' : 'changed';
    },

    async *list(prefix, signal) {
      const connection = await ensemble.shared(signal);
      for await (const { key, ...seen } of listLocks(root, prefix, connection, signal)) {
        yield { key, ...viewOfNode(seen) };
      }
    },

    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]();
      await ensemble[Symbol.asyncDispose]();
    },
  };
}

/** Refusals of a transaction because another process was faster. All others, such as a missing permission, are errors. */
const changedMeanwhile: readonly number[] = [
  zooKeeperCode.noNode,
  zooKeeperCode.nodeExists,
  zooKeeperCode.badVersion,
];

/** The name of a lease among those of this process. */
const nameOf = (key: string, leaseId: string) => `${leaseId} ${key}`;

const notOurs: Refusal = {
  kind: 'refused',
  reason: 'taken',
  detail: 'this process has no ZooKeeper session for the lease',
};
