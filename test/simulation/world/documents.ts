/** The store of documents as one machine reaches it. */
import { type Operation, StoreAway } from '../../../packages/jobs/src/documents/documentStore.ts';
import type { MemoryDocuments, StoredDocument } from '../../memory/memoryDocuments.ts';
import type { Machine } from '../engine/machine.ts';
import { CallFailed, type Network } from '../engine/network.ts';

/** A transaction at the moment at which a machine sends it. */
export interface SentTransaction {
  machine: Machine;
  operations: readonly Operation[];
}

/** Lag of reads, and what they show then. */
export interface StaleReads {
  now: () => number;
  /** Milliseconds. Absent: no read ever does. */
  staleMs: (() => number) | undefined;
  asOf: (document: StoredDocument, time: number) => StoredDocument | undefined;
}

export function documentsOf(
  memory: MemoryDocuments,
  machine: Machine,
  network: Network,
  {
    onSend,
    onUnanswered,
    stale,
  }: {
    onSend: (sent: SentTransaction) => void;
    onUnanswered: (ids: readonly string[]) => void;
    stale: StaleReads;
  },
): MemoryDocuments {
  const { now, staleMs, asOf } = stale;
  /** Time up to which this machine has seen each partition: with Session consistency it sees nothing older (ms). */
  const seen = new Map<string, number>();

  return {
    async transact(partition, operations) {
      if (machine.alive) onSend({ machine, operations });
      try {
        return await network.call(machine, 'cosmos', 'transact', () => {
          if (staleMs !== undefined) seen.set(partition, now());
          return memory.transact(partition, operations);
        });
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        onUnanswered(operations.map(idOf));
        if (error.reason === 'denied') throw new StoreAway('accessDenied', error);
        return { kind: 'uncertain', cause: error };
      }
    },
    read: (partition, ids) =>
      reading(
        'read',
        () =>
          staleMs === undefined ? memory.read(partition, ids) : readAsOf(partition, ids, now() - staleMs()),
        ids,
      ),
    query: (matches, partition, kind) => reading('query', () => memory.query(matches, partition, kind)),
    count: (matches, kind) => reading('query', () => memory.count(matches, kind)),
  };

  /** A read of a replica that lags behind, but shows all that this machine has seen. */
  async function readAsOf(
    partition: string,
    ids: readonly string[],
    wanted: number,
  ): Promise<StoredDocument[]> {
    const time = Math.max(wanted, seen.get(partition) ?? 0);
    seen.set(partition, time);
    return (await memory.read(partition, ids)).flatMap(
      (document) => asOf(document as StoredDocument, time) ?? [],
    );
  }

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
