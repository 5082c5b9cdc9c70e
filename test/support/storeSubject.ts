import type { DocumentStore } from '../../src/documents/documentStore.ts';
import type { OnUnreadable } from '../../src/documents/storedDocuments.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import type { OutboxStore } from '../../src/outbox/outboxStore.ts';
import type { Clock } from '../../src/platform/clock.ts';

/** One implementation of the stores for invoices and the outbox, as the contract suites need it. */
export interface StoreSubject {
  /** Opens a new, empty store. Call it within a test. */
  open: () => Promise<OpenStore>;
  /** Whether `lose`, `failReads` and `denied` work; the tests that need them are skipped otherwise. */
  readonly canFail: boolean;
  /** Whether this is the official Cosmos DB emulator, whose known deviations are skipped. */
  readonly onEmulator: boolean;
}

/** The documents, and the stores that keep theirs in them. */
export interface Stores {
  readonly documents: DocumentStore;
  invoices: (options: { clock: Clock; shards: number; onUnreadable?: OnUnreadable }) => InvoiceStore;
  outbox: (options: { clock: Clock; onUnreadable?: OnUnreadable }) => OutboxStore;
}

/**
 * How the answer to a write is lost: before it was applied; after it; or after it, and the client sends it again and gets
 * the answer to that.
 */
export type LostAnswer = 'before' | 'after' | 'echo';

export interface OpenStore extends Stores {
  /** Loses the answers to the next `count` writes. */
  lose: (answer: LostAnswer, count?: number) => Promise<void>;
  /** Lets the next `count` reads and queries go unanswered. */
  failReads: (count?: number) => Promise<void>;
  /** Runs `action` just before the next transaction. */
  interleave: (action: () => Promise<unknown>) => void;
  /** The same stores for an app that may not use them. */
  readonly denied: Stores;
}
