/**
 * The requests to ZooKeeper that locks need, and their answers, as bytes: see `zookeeper.jute` and `ZooDefs.OpCode` in its
 * sources (https://github.com/apache/zookeeper).
 */
import { bool, int, type JuteReader, text } from './jute.ts';

/** Data that ZooKeeper keeps about a node. */
export interface NodeStat {
  /** Number of the transaction that last changed its data. No two writes of any node have the same. */
  mzxid: bigint;
  /** Number of changes of its data. */
  version: number;
  /** The session that it ends with; 0 for a node that stays. */
  ephemeralOwner: bigint;
  /** Number of the nodes below it. */
  children: number;
}

export interface ZooKeeperRequest<T> {
  type: number;
  body: Buffer;
  /** Reads the answer. */
  answer: (reader: JuteReader) => T;
  /** Error codes that are an answer, too, and which. */
  codes?: readonly (readonly [code: number, answer: T])[];
}

/** Error codes: https://github.com/apache/zookeeper, `KeeperException.Code`. */
export const zooKeeperCode = {
  runtimeInconsistency: -2,
  noNode: -101,
  notAllowed: -102,
  badVersion: -103,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
} as const;

const type = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getChildren: 8,
  sync: 9,
  check: 13,
  multi: 14,
  closeSession: -11,
} as const;

/** Access to a node: everything for everybody, or only for clients that have authenticated as its creator has. */
export type ZooKeeperAcl = 'open' | 'own';
const acls: Readonly<Record<ZooKeeperAcl, Buffer[]>> = {
  open: [int(1), int(31), text('world'), text('anyone')],
  own: [int(1), int(31), text('auth'), text('')],
};
const lifeFlags = { 'for ever': 0, 'with the session': 1, 'with the session, numbered': 3 } as const;
const [watch, noWatch] = [bool(true), bool(false)];

/** One part of a `multi`. A version of -1 is any. */
export interface ZooKeeperOperation {
  type: number;
  body: Buffer;
}

export const createNode = (
  path: string,
  data: string,
  lives: keyof typeof lifeFlags,
  acl: ZooKeeperAcl = 'open',
) => {
  const body = Buffer.concat([text(path), text(data), ...acls[acl], int(lifeFlags[lives])]);
  return { type: type.create, body };
};

export const remove = (path: string): ZooKeeperOperation => {
  return { type: type.delete, body: Buffer.concat([text(path), int(-1)]) };
};

export const setData = (path: string, data: string, version = -1): ZooKeeperOperation => {
  return { type: type.setData, body: Buffer.concat([text(path), text(data), int(version)]) };
};

export const check = (path: string, version = -1): ZooKeeperOperation => {
  return { type: type.check, body: Buffer.concat([text(path), int(version)]) };
};

/** Creates a node that stays, unless it exists. */
export const createNodeUnlessThere = (
  path: string,
  acl: ZooKeeperAcl,
): ZooKeeperRequest<'created' | 'exists' | 'no parent'> => ({
  ...createNode(path, '', 'for ever', acl),
  answer: () => 'created',
  codes: [
    [zooKeeperCode.nodeExists, 'exists'],
    [zooKeeperCode.noNode, 'no parent'],
  ],
});

/**
 * Creates a node that ends with the session, and whose name is `path` and a number above those of all nodes that were created
 * there before. Answers with that name; undefined if there is no parent.
 */
export const createNumbered = (path: string, acl: ZooKeeperAcl): ZooKeeperRequest<string | undefined> => ({
  ...createNode(path, '', 'with the session, numbered', acl),
  answer: (reader) => reader.text(),
  codes: [[zooKeeperCode.noNode, undefined]],
});

/** Ends the session, and the nodes that live no longer. */
export const closeSession: ZooKeeperRequest<void> = {
  type: type.closeSession,
  body: Buffer.alloc(0),
  answer: () => {},
};

/** Brings the server that is asked up to date with its leader, for the reads that follow on the same connection. */
export const sync = (path: string): ZooKeeperRequest<void> => {
  return { type: type.sync, body: text(path), answer: () => {} };
};

export const existsNode = (path: string): ZooKeeperRequest<NodeStat | undefined> => ({
  type: type.exists,
  body: Buffer.concat([text(path), noWatch]),
  answer: readStat,
  codes: [[zooKeeperCode.noNode, undefined]],
});

/** The same, and the server tells this connection once when the node is created, changed or deleted. */
export const watchNode = (path: string): ZooKeeperRequest<NodeStat | undefined> => ({
  ...existsNode(path),
  body: Buffer.concat([text(path), watch]),
});

export const getData = (path: string): ZooKeeperRequest<{ data: string; stat: NodeStat } | undefined> => ({
  type: type.getData,
  body: Buffer.concat([text(path), noWatch]),
  answer: (reader) => ({ data: reader.text(), stat: readStat(reader) }),
  codes: [[zooKeeperCode.noNode, undefined]],
});

/** The names of the nodes below a node; none if it is missing. */
export const getChildren = (path: string): ZooKeeperRequest<string[]> => ({
  type: type.getChildren,
  body: Buffer.concat([text(path), noWatch]),
  answer: (reader) => Array.from({ length: Math.max(0, reader.int()) }, () => reader.text()),
  codes: [[zooKeeperCode.noNode, []]],
});

/** `done`, with the stat of each node whose data was set; or which operation was refused, and then none was done. */
export type MultiAnswer =
  | { kind: 'done'; stats: NodeStat[] }
  | { kind: 'refused'; operation: number; code: number };

/** All operations or none, in one transaction that a majority of the servers has agreed to. */
export const multi = (operations: readonly ZooKeeperOperation[]): ZooKeeperRequest<MultiAnswer> => ({
  type: type.multi,
  body: Buffer.concat([
    ...operations.flatMap(({ type, body }) => [multiHeader(type, false), body]),
    multiHeader(-1, true),
  ]),
  answer: readMulti,
});

function multiHeader(type: number, done: boolean): Buffer {
  return Buffer.concat([int(type), bool(done), int(-1)]);
}

function readMulti(reader: JuteReader): MultiAnswer {
  const stats: NodeStat[] = [];
  let refused: MultiAnswer | undefined;
  for (let operation = 0; ; operation++) {
    const [kind, done] = [reader.int(), reader.bool(), reader.int()];
    if (done) return refused ?? { kind: 'done', stats };
    if (kind === type.create) reader.text();
    else if (kind === type.setData) stats.push(readStat(reader));
    else if (kind === -1) {
      const code = reader.int();
      // The operations around the refused one have code 0 or this one.
      if (code !== 0 && code !== zooKeeperCode.runtimeInconsistency) {
        refused ??= { kind: 'refused', operation, code };
      }
    }
  }
}

function readStat(reader: JuteReader): NodeStat {
  reader.long(); // czxid
  const mzxid = reader.long();
  reader.long(); // ctime
  reader.long(); // mtime
  const version = reader.int();
  reader.int(); // cversion
  reader.int(); // aversion
  const ephemeralOwner = reader.long();
  reader.int(); // dataLength
  const children = reader.int();
  reader.long(); // pzxid
  return { mzxid, version, ephemeralOwner, children };
}
