import type { DocumentStore } from '../../documents/documentStore.ts';
import type { Clock } from '../../platform/clock.ts';
import type { InvoiceStore } from '../store/invoiceStore.ts';
import type { FigureReads } from './figureReads.ts';
import { readBacklog, readDays, readFigures } from './readFigures.ts';
import { recountShard } from './recountShard.ts';
import { tendFigures } from './tendFigures.ts';

/** The figures of an invoice store, on whatever keeps the documents. */
export function invoiceFigures({
  documents,
  reads,
  clock,
  shards,
}: {
  documents: DocumentStore;
  reads: FigureReads;
  clock: Clock;
  shards: number;
}): Pick<InvoiceStore, 'figures' | 'backlog' | 'dayFigures' | 'recount' | 'tendFigures'> {
  const parts = { documents, reads, now: () => clock.now(), failedAt: new Map<string, number>() };
  return {
    figures: (now) => readFigures(reads, shards, now),
    backlog: (now) => readBacklog(reads, shards, now),
    dayFigures: (days) => readDays(reads, shards, days),
    recount: (shard) => recountShard(parts, shard),
    tendFigures: (signal) => tendFigures(parts, shards, signal),
  };
}
