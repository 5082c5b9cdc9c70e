import type { OnUnreadable } from '../../packages/jobs/src/documents/unreadable.ts';
import type { DocumentsSubject } from '../../packages/jobs/src/testing/documents/subject.ts';
import type { OpenOutbox } from '../../packages/jobs/src/testing/outbox/world.ts';
import type { Clock } from '../../packages/leases/src/clock.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';

/** One implementation of the stores for invoices and the outbox, as the contract suites need it. */
export interface StoreSubject extends DocumentsSubject<OpenStore> {
  /** True if this is the official Cosmos DB emulator, whose known deviations are skipped. */
  readonly onEmulator: boolean;
}

/** The documents, and the stores that keep theirs in them. */
export interface Stores extends Pick<OpenOutbox, 'documents' | 'outbox'> {
  invoices: (options: { clock: Clock; shards: number; onUnreadable?: OnUnreadable }) => InvoiceStore;
}

export interface OpenStore extends OpenOutbox, Stores {
  /** Runs `action` just before the next transaction. */
  interleave: (action: () => Promise<unknown>) => void;
  /** The same stores for an app that may not use them. */
  readonly denied: Stores;
}
