/** Requests about locks on a connection that needs no lease. */
import type { LostReason, Refusal } from '@payonce/leases';
import {
  brokenLeaseData,
  keyOfNode,
  lineOf,
  type LockNodes,
  nodesOf,
  type SeenLock,
  type WaiterNode,
} from './lockNodes.ts';
import type { ZooKeeperConnection } from './zooKeeperConnection.ts';
import {
  createNodeUnlessThere,
  existsNode,
  getChildren,
  getData,
  sync,
  type ZooKeeperAcl,
} from './zooKeeperRequests.ts';

type On = [connection: ZooKeeperConnection, signal: AbortSignal];

/** Locks that a listing asks about at once. */
const pageSize = 100;

/** The lock as the leader of the servers has it; undefined if there is none. */
export async function readLock(nodes: LockNodes, ...[connection, signal]: On): Promise<SeenLock | undefined> {
  const [, found, lease] = await Promise.all([
    connection.send(sync(nodes.lock), signal),
    connection.send(getData(nodes.lock), signal),
    connection.send(existsNode(nodes.lease), signal),
  ]);
  return found && { ...found, lease };
}

/** The waiters of the lock, in the order of asking, as the server that is asked has them. */
export async function readLine(nodes: LockNodes, ...[connection, signal]: On): Promise<WaiterNode[]> {
  return lineOf(nodes, await connection.send(getChildren(nodes.lock), signal));
}

/** Creates the nodes that stay, unless they exist, and those above them. */
export async function createLock(
  root: string,
  nodes: LockNodes,
  acl: ZooKeeperAcl,
  ...[connection, signal]: On
): Promise<void> {
  const make = (paths: readonly string[]) =>
    Promise.all(paths.map((path) => connection.send(createNodeUnlessThere(path, acl), signal)));
  const [made] = await make([nodes.lock, nodes.tenure]);
  if (made !== 'no parent') return;
  // `/a`, `/a/b`, `/a/b/c`
  const above = [...root.matchAll(/(?<=.)(?=\/)|$/g)].map(({ index }) => root.slice(0, index));
  await make([...above, nodes.lock, nodes.tenure]);
}

/** Every lock whose key begins with `prefix`. */
export async function* listLocks(
  root: string,
  prefix: string,
  ...[connection, signal]: On
): AsyncGenerator<SeenLock & { key: string }> {
  const [, names] = await Promise.all([
    connection.send(sync(root), signal),
    connection.send(getChildren(root), signal),
  ]);
  const keys = names.map(keyOfNode).filter((key) => key.startsWith(prefix));
  for (let from = 0; from < keys.length; from += pageSize) {
    const page = keys.slice(from, from + pageSize).map(async (key) => {
      const seen = await readLock(nodesOf(root, key), connection, signal);
      return seen === undefined ? [] : [{ key, ...seen }];
    });
    yield* (await Promise.all(page)).flat();
  }
}

/** Why a lease does not have the lock. */
export async function refusalOfLease(nodes: LockNodes, ...[connection, signal]: On): Promise<Refusal> {
  const [, last, lease] = await Promise.all([
    connection.send(sync(nodes.lock), signal),
    connection.send(getData(nodes.tenure), signal),
    connection.send(existsNode(nodes.lease), signal),
  ]);
  const refused = (reason: LostReason, detail: string): Refusal => ({ kind: 'refused', reason, detail });
  if (last === undefined) return refused('deleted', 'ZooKeeper has no such lock');
  if (lease !== undefined) return refused('taken', 'another session has the lock');
  if (last.data === brokenLeaseData) return refused('broken', 'someone broke the lease');
  return refused('taken', 'ZooKeeper has ended the session or the lease');
}
