/**
 * An in-memory document store for tests and simulation. It follows Cosmos DB, as far as the app relies on it:
 * packages/jobs/src/testing/documents/documentStoreContract.ts runs on both. Not covered: the 2 MB limit of a request, and paths into arrays.
 */
import {
  type Condition,
  type Create,
  type DocumentStore,
  maxOperations,
  type Operation,
  type Patch,
  type Replace,
  refusedBecause,
  StoreAway,
  type Transacted,
} from '../../packages/jobs/src/documents/documentStore.ts';
import { type DocumentKind, documentIndex } from './documentIndex.ts';

/** A document as it is stored, with the properties that the store sets. */
export interface StoredDocument {
  readonly id: string;
  readonly shard: string;
  /** Changes with every write. */
  readonly _etag: string;
  /** Rises in the order of creation, and never changes. */
  readonly _rid: number;
  readonly [field: string]: unknown;
}

/**
 * Fault of a transaction. `before`, `after`: the answer is lost before or after it was applied. `echo`: the
 * answer is lost after it was applied, and the client sends it again and gets the second answer. `denied`:
 * the store refuses the app.
 */
export type TransactionFault = 'before' | 'after' | 'echo' | 'denied';

export interface MemoryDocumentsOptions {
  /** Asked before each transaction. */
  fault?: (partition: string, operations: readonly Operation[]) => TransactionFault | undefined;
  /** Asked before each read and query: why it rejects with `StoreAway`. A query over all partitions has none. */
  readFault?: (partition: string | undefined) => StoreAway['reason'] | undefined;
  /** Reads hand out copies, so that nobody can change what is stored. Without them: for readers that change nothing. */
  copies?: boolean;
  /** Wall-clock milliseconds, for documents with a `ttl`. */
  now?: () => number;
  /** Told of each document that a transaction wrote, once all of it is written. */
  onWrite?: (after: StoredDocument, before: StoredDocument | undefined) => void;
}

export interface MemoryDocuments extends DocumentStore {
  /**
   * The documents that match, in the order of their creation: all queries are made of this. Only those of a kind are looked
   * at, if one is given. @throws {StoreAway}
   */
  query(
    matches: (document: StoredDocument) => boolean,
    partition?: string,
    kind?: DocumentKind,
  ): Promise<StoredDocument[]>;
  /** Counts the documents that match. @throws {StoreAway} */
  count(matches: (document: StoredDocument) => boolean, kind: DocumentKind): Promise<number>;
}

/** A store that a test can fill and empty directly. No fault, watcher or limit sees what is stored or forgotten this way. */
export interface FilledDocuments extends MemoryDocuments {
  store(document: Omit<StoredDocument, '_etag' | '_rid'> & { id: string; shard: string }): void;
  forget(partition: string, id: string): void;
}

/** A field as text; empty if it is none, as in a broken document. */
export function textIn(document: Readonly<Record<string, unknown>>, field: string): string {
  const value = document[field];
  return typeof value === 'string' ? value : '';
}

/** Status codes that the app never tells apart from others. */
const badRequest = 400;
const failedDependency = 424;

/** https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq */
const maxPatchOperations = 10;

/** Properties that no patch may write: the id, the partition key and what the store sets. */
const fixed = new Set(['id', 'shard', '_etag', '_rid']);

type Json = Record<string, unknown>;

export function memoryDocuments(options: MemoryDocumentsOptions = {}): FilledDocuments {
  const { fault, readFault, copies = true, now = Date.now, onWrite } = options;
  const handOut = copies ? copyOf<StoredDocument> : (document: StoredDocument) => document;
  /** Documents in here are never changed, only replaced. */
  const index = documentIndex();
  let sequence = 0;

  return {
    async transact(partition, operations) {
      if (operations.length === 0 || operations.length > maxOperations)
        throw new RangeError(`expected 1 to ${maxOperations} operations, got ${operations.length}`);
      switch (fault?.(partition, operations)) {
        case undefined:
          return apply(partition, operations);
        case 'before':
          return { kind: 'uncertain', cause: new Error('the answer was lost before the write') };
        case 'after':
          apply(partition, operations);
          return { kind: 'uncertain', cause: new Error('the answer was lost after the write') };
        case 'echo':
          apply(partition, operations);
          return apply(partition, operations);
        case 'denied':
          throw new StoreAway('accessDenied', new Error('access denied'));
      }
    },

    async read(partition, ids) {
      refuseRead(partition);
      return [...new Set(ids)].flatMap((id) => {
        const found = find(partition, id);
        return found === undefined ? [] : [handOut(found)];
      });
    },

    async query(matches, partition, kind) {
      refuseRead(partition);
      const time = now();
      const found: StoredDocument[] = [];
      for (const { document, expiresAt } of index.entries(partition, kind)) {
        if (expiresAt <= time) index.remove(document.shard, document.id);
        else if (matches(document)) found.push(handOut(document));
      }
      return found.sort((one, other) => one._rid - other._rid);
    },

    async count(matches, kind) {
      refuseRead(undefined);
      const time = now();
      let found = 0;
      for (const { document, expiresAt } of index.entries(undefined, kind))
        if (expiresAt > time && matches(document)) found++;
      return found;
    },

    store(document) {
      const { shard: partition } = document;
      const stored = { ...document, _etag: nextEtag(), _rid: ++sequence };
      index.put(partition, { document: stored, expiresAt: Number.POSITIVE_INFINITY });
    },

    forget: (partition, id) => index.remove(partition, id),
  };

  function refuseRead(partition: string | undefined): void {
    const reason = readFault?.(partition);
    if (reason !== undefined) throw new StoreAway(reason, new Error(reason));
  }

  /** An expired document is gone at once. */
  function find(partition: string, id: string): StoredDocument | undefined {
    const entry = index.find(partition, id);
    return entry === undefined || entry.expiresAt <= now() ? undefined : entry.document;
  }

  function apply(partition: string, operations: readonly Operation[]): Transacted {
    const written = new Map<string, StoredDocument>();
    for (const [index, operation] of operations.entries()) {
      const id = operation.kind === 'patch' ? operation.id : operation.document.id;
      const stored = written.get(id) ?? find(partition, id);
      try {
        written.set(id, afterwards(operation, partition, stored));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return {
          kind: 'refused',
          codes: operations.map((_, at) => (at === index ? error.code : failedDependency)),
        };
      }
    }
    const before = onWrite && [...written].map(([id, after]) => [after, find(partition, id)] as const);
    for (const document of written.values())
      index.put(partition, { document, expiresAt: expiryOf(document) });
    for (const [after, was] of before ?? []) onWrite?.(after, was);
    return { kind: 'committed' };
  }

  function afterwards(
    operation: Operation,
    partition: string,
    stored: StoredDocument | undefined,
  ): StoredDocument {
    switch (operation.kind) {
      case 'create':
        return created(operation, partition, stored);
      case 'patch':
        return patched(operation, stored);
      case 'replace':
        return replaced(operation, partition, stored);
    }
  }

  function replaced(
    { document, version }: Replace,
    partition: string,
    stored: StoredDocument | undefined,
  ): StoredDocument {
    if (stored === undefined) throw new Refused(refusedBecause.missing);
    if (version !== stored._etag) throw new Refused(refusedBecause.changed);
    return { ...created({ kind: 'create', document }, partition, undefined), _rid: stored._rid };
  }

  function created(
    { document }: Create,
    partition: string,
    stored: StoredDocument | undefined,
  ): StoredDocument {
    const { id, shard, ...rest } = asJson(document) as Json;
    if (typeof id !== 'string' || !canBeId(id) || shard !== partition) throw new Refused(badRequest);
    if (stored !== undefined) throw new Refused(refusedBecause.taken);
    return { ...rest, id, shard, _etag: nextEtag(), _rid: ++sequence };
  }

  function patched(patch: Patch, stored: StoredDocument | undefined): StoredDocument {
    const { version, where = [], set = {}, remove = [], increment = {}, append } = patch;
    const changes = [...Object.keys(set), ...remove, ...Object.keys(increment)];
    const count = changes.length + (append === undefined ? 0 : 1);
    if (count === 0 || count > maxPatchOperations) throw new Refused(badRequest);
    if (stored === undefined) throw new Refused(refusedBecause.missing);
    if (version !== undefined && version !== stored._etag) throw new Refused(refusedBecause.changed);
    if (!where.every((condition) => holds(condition, stored))) throw new Refused(refusedBecause.changed);
    const changed: Json = { ...stored };
    const own = new Set<object>([changed]);
    for (const [path, value] of Object.entries(set)) {
      if (value === undefined) throw new Refused(badRequest);
      const { parent, name } = placeOf(changed, path, own);
      parent[name] = asJson(value);
    }
    for (const path of remove) {
      const { parent, name } = placeOf(changed, path, own);
      if (!Object.hasOwn(parent, name)) throw new Refused(badRequest);
      delete parent[name];
    }
    for (const [path, by] of Object.entries(increment)) {
      const { parent, name } = placeOf(changed, path, own);
      const from = Object.hasOwn(parent, name) ? parent[name] : 0;
      if (typeof from !== 'number') throw new Refused(badRequest);
      parent[name] = from + by;
    }
    if (append !== undefined) {
      const { parent, name } = placeOf(changed, append.path, own);
      const list: unknown = Object.hasOwn(parent, name) ? parent[name] : undefined;
      if (!Array.isArray(list)) throw new Refused(badRequest);
      parent[name] = [...(list as unknown[]), asJson(append.value)];
    }
    return { ...changed, id: stored.id, shard: stored.shard, _etag: nextEtag(), _rid: stored._rid };
  }

  function nextEtag(): string {
    return `"${++sequence}"`;
  }

  /** Cosmos counts in whole seconds from the last write. Without `ttl`, or with -1, a document never expires. */
  function expiryOf({ ttl }: StoredDocument): number {
    if (typeof ttl !== 'number' || ttl === -1) return Number.POSITIVE_INFINITY;
    return (Math.floor(now() / 1000) + ttl) * 1000;
  }
}

/** Why a transaction is refused, as the status code of the operation at fault. */
class Refused extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`status ${code}`);
    this.code = code;
  }
}

/** A copy as the service would keep it: members that are undefined are not there. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** A copy of what is stored. By hand, because simulations copy millions: `structuredClone` takes twice as long. */
export function copyOf<T>(value: T): T;
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((element: unknown) => copyOf(element));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Json = {};
  for (const [name, member] of Object.entries(value)) copy[name] = copyOf(member);
  return copy;
}

/** Values of different types do not compare, and neither does what is not there. */
function holds({ path, is, value }: Condition, document: Json): boolean {
  const found = path.split('.').reduce<unknown>((parent, name) => member(parent, name), document);
  if (is === '=') return found === value;
  if (typeof found === 'number' && typeof value === 'number') return found <= value;
  return typeof found === 'string' && typeof value === 'string' && found <= value;
}

/**
 * Where a patch writes: the object that has the last part of the path, or gets it. Objects on the way that are not `own` are
 * replaced by copies, which are. The rest is shared with the document before, because simulations patch millions.
 */
function placeOf(document: Json, path: string, own: Set<object>): { parent: Json; name: string } {
  const names = path.split('.');
  const name = names.pop() ?? '';
  if (names.length === 0 && fixed.has(name)) throw new Refused(badRequest);
  let parent = document;
  for (const part of names) {
    const found = member(parent, part);
    if (Array.isArray(found)) throw new Error(`paths into arrays are not covered: ${path}`);
    if (!isObject(found)) throw new Refused(badRequest);
    const mine = own.has(found) ? found : { ...found };
    own.add(mine);
    parent[part] = mine;
    parent = mine;
  }
  return { parent, name };
}

function member(parent: unknown, name: string): unknown {
  return isObject(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

/** https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits */
function canBeId(id: string): boolean {
  return id !== '' && !/[/\\?#]/.test(id) && Buffer.byteLength(id) <= 1023;
}
