import type { StoredDocument } from './memoryDocuments.ts';

/** A document, and from when on it counts as gone (milliseconds). */
export interface Entry {
  readonly document: StoredDocument;
  readonly expiresAt: number;
}

/** Documents of one type, and of one status of it. */
export interface DocumentKind {
  readonly type: string;
  readonly status?: string;
}

export interface DocumentIndex {
  find(partition: string, id: string): Entry | undefined;
  put(partition: string, entry: Entry): void;
  remove(partition: string, id: string): void;
  /** Of one partition or all, and of one kind or all; in no order. */
  entries(partition?: string, kind?: DocumentKind): Generator<Entry>;
}

type ById = Map<string, Entry>;

interface Partition {
  readonly byId: ById;
  /** By type, then by status: a query for what waits does not look at all that is done. */
  readonly byKind: Map<unknown, Map<unknown, ById>>;
}

export function documentIndex(): DocumentIndex {
  const partitions = new Map<string, Partition>();

  return {
    find: (partition, id) => partitions.get(partition)?.byId.get(id),
    put(name, entry) {
      const { id } = entry.document;
      let partition = partitions.get(name);
      if (partition === undefined) {
        partition = { byId: new Map(), byKind: new Map() };
        partitions.set(name, partition);
      }
      const before = partition.byId.get(id)?.document;
      const { type, status } = entry.document;
      if (before !== undefined && (before.type !== type || before.status !== status))
        partition.byKind.get(before.type)?.get(before.status)?.delete(id);
      partition.byId.set(id, entry);
      ofKind(partition, type, status).set(id, entry);
    },
    remove(name, id) {
      const partition = partitions.get(name);
      const found = partition?.byId.get(id)?.document;
      partition?.byId.delete(id);
      partition?.byKind.get(found?.type)?.get(found?.status)?.delete(id);
    },
    *entries(name, kind) {
      for (const partition of name === undefined ? partitions.values() : [partitions.get(name)]) {
        if (partition === undefined) continue;
        if (kind === undefined) {
          yield* partition.byId.values();
          continue;
        }
        const ofType = partition.byKind.get(kind.type);
        const lists = kind.status === undefined ? ofType?.values() : [ofType?.get(kind.status)];
        for (const list of lists ?? []) yield* list?.values() ?? [];
      }
    },
  };

  function ofKind({ byKind }: Partition, type: unknown, status: unknown): ById {
    let ofType = byKind.get(type);
    if (ofType === undefined) {
      ofType = new Map();
      byKind.set(type, ofType);
    }
    let list = ofType.get(status);
    if (list === undefined) {
      list = new Map();
      ofType.set(status, list);
    }
    return list;
  }
}
