import type { Operation } from '../../../packages/jobs/src/documents/documentStore.ts';
import type { MemoryDocuments } from '../../memory/memoryDocuments.ts';

/**
 * Costs of operations in request units, estimated as in scripts/costs/usage.ts: documents of 1 kB with few
 * indexed paths. A point read of 1 kB costs 1 (https://learn.microsoft.com/azure/cosmos-db/request-units), a
 * query 2.3 and about as much as a read for each document that it returns.
 */
const requestUnits = { create: 6, patch: 11, read: 1, query: 2.3, returned: 1, otherWrite: 11, otherRead: 1 };

export interface CosmosUse {
  requests: number;
  requestUnits: number;
  /** Requests by what they are for. */
  byName: Map<string, number>;
}

/** Counts what is asked of a store of documents, and estimates its cost. */
export function countedDocuments(
  documents: MemoryDocuments,
  use: CosmosUse,
  pageSize: number,
): MemoryDocuments {
  const costOf = ({ kind }: Operation) => (kind === 'create' ? requestUnits.create : requestUnits.patch);
  return {
    transact(partition, operations) {
      use.requestUnits += operations.reduce((sum, one) => sum + costOf(one), 0);
      return documents.transact(partition, operations);
    },
    read(partition, ids) {
      use.requestUnits += ids.length * requestUnits.read;
      return documents.read(partition, ids);
    },
    async query(matches, partition, kind) {
      const found = await documents.query(matches, partition, kind);
      // Over all partitions only sums are asked for. A query of one partition returns a page.
      const returned = partition === undefined ? 0 : Math.min(found.length, pageSize);
      use.requestUnits += requestUnits.query + returned * requestUnits.returned;
      return found;
    },
    async count(matches, kind) {
      use.requestUnits += requestUnits.query;
      return documents.count(matches, kind);
    },
  };
}

const ofDocuments = new Set(['transact', 'query']);

/** Counts one request, by the name that it has in the simulation. Those of documents have been charged already. */
export function countRequest(use: CosmosUse, name: string): void {
  use.requests++;
  use.byName.set(name, (use.byName.get(name) ?? 0) + 1);
  if (ofDocuments.has(name)) return;
  const isRead = /^(read|list|has|find|lastFailure|waiting)/.test(name);
  use.requestUnits += isRead ? requestUnits.otherRead : requestUnits.otherWrite;
}
