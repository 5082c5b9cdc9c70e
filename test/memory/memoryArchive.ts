import type { ArchiveBlobs, ArchiveStore } from '../../src/archive/archiveFile.ts';
import { isInvoice } from '../../src/invoice/invoice.ts';
import { type MemoryDocuments, textIn } from './memoryDocuments.ts';

/** The archive's questions to documents in memory. It knows no time of the last write: it finds what is settled, however new. */
export function memoryArchiveStore(documents: MemoryDocuments): ArchiveStore {
  return {
    async *settled({ shard, pageSize }) {
      const found = await documents.query(
        (one) => isInvoice(one) && ['paid', 'declined', 'voided'].includes(textIn(one, 'status')),
        shard,
      );
      for (let at = 0; at < found.length; at += pageSize) yield found.slice(at, at + pageSize);
    },
    async *undelivered(shard) {
      const found = await documents.query(
        ({ type, status }) => type === 'outboxMessage' && (status === 'pending' || status === 'parked'),
        shard,
      );
      if (found.length > 0) yield found.map(({ body }) => body);
    },
    archivedOf: (customerId) =>
      documents.query(({ type, customerId: of }) => type === 'tombstone' && of === customerId),
  };
}

/** An archive in memory, and what is in it. */
export function memoryArchiveBlobs(files: Map<string, string> = new Map()): ArchiveBlobs {
  return {
    async create(name, text) {
      const there = files.get(name);
      if (there === undefined) files.set(name, text);
      return there === undefined || there === text ? 'stored' : 'taken';
    },
    read: async (name) => files.get(name),
    async rewrite(name, change) {
      const text = files.get(name);
      if (text !== undefined) files.set(name, change(text));
      return text !== undefined;
    },
    async *list(prefix) {
      yield* [...files.keys()].filter((name) => name.startsWith(prefix)).toSorted();
    },
  };
}
