/** The store of documents as one machine reaches it. */
import type { Operation } from '../../../src/documents/documentStore.ts';
import { StoreAway } from '../../../src/documents/storeAway.ts';
import type { MemoryDocuments } from '../../memory/memoryDocuments.ts';
import type { Machine } from '../engine/machine.ts';
import { CallFailed, type Network } from '../engine/network.ts';

/** A transaction at the moment at which a machine sends it. */
export interface SentTransaction {
  machine: Machine;
  operations: readonly Operation[];
}

export function documentsOf(
  memory: MemoryDocuments,
  machine: Machine,
  network: Network,
  {
    onSend,
    onUnanswered,
  }: {
    onSend: (sent: SentTransaction) => void;
    onUnanswered: (ids: readonly string[]) => void;
  },
): MemoryDocuments {
  return {
    async transact(partition, operations) {
      if (machine.alive) onSend({ machine, operations });
      try {
        return await network.call(machine, 'cosmos', 'transact', () =>
          memory.transact(partition, operations),
        );
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        onUnanswered(operations.map(idOf));
        if (error.reason === 'denied') throw new StoreAway('accessDenied', error);
        return { kind: 'uncertain', cause: error };
      }
    },
    read: (partition, ids) => reading('read', () => memory.read(partition, ids), ids),
    query: (matches, partition, kind) => reading('query', () => memory.query(matches, partition, kind)),
    count: (matches, kind) => reading('query', () => memory.count(matches, kind)),
  };

  async function reading<T>(name: string, run: () => Promise<T>, ids: readonly string[] = []): Promise<T> {
    try {
      return await network.call(machine, 'cosmos', name, run);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      onUnanswered(ids);
      throw new StoreAway(error.reason === 'denied' ? 'accessDenied' : 'noAnswer', error);
    }
  }
}

function idOf(operation: Operation): string {
  return operation.kind === 'patch' ? operation.id : operation.document.id;
}
