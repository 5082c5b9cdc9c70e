import type { DocumentStore } from '../../documents/documentStore.ts';
import type { OnUnreadable } from '../../documents/storedDocuments.ts';
import type { Clock } from '../../platform/clock.ts';
import type { InvoiceStore } from '../store/invoiceStore.ts';
import type { FigureReads } from './figureReads.ts';
import { moveHorizons } from './moveHorizons.ts';
import { readBacklog, readDays, readFigures } from './readFigures.ts';
import { recountShard } from './recountShard.ts';

/** The figures of an invoice store, on whatever keeps the documents. */
export function invoiceFigures({
  documents,
  reads,
  clock,
  onUnreadable,
}: {
  documents: DocumentStore;
  reads: FigureReads;
  clock: Clock;
  onUnreadable?: OnUnreadable | undefined;
}): Pick<InvoiceStore, 'figures' | 'backlog' | 'dayFigures' | 'recount' | 'moveHorizons'> {
  const parts = { documents, reads, now: () => clock.now() };
  return {
    figures: (now) => readFigures(reads, now, onUnreadable),
    backlog: (now) => readBacklog(reads, now),
    dayFigures: (days) => readDays(reads, days, onUnreadable),
    recount: (shard) => recountShard(parts, shard),
    moveHorizons: (signal) => moveHorizons(parts, signal),
  };
}
