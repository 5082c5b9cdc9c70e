import type { StoredInvoice } from './archiveFile.ts';

/** What the archive asks the database. All methods may reject with `StoreAway`. */
export interface ArchiveStore {
  /**
   * Invoices of a shard that are paid, declined or voided and were last written before this time (ISO 8601, UTC), longest
   * untouched first, page by page. What leaves a page while it is worked on hides nothing behind it.
   */
  settled(query: {
    shard: string;
    before: string;
    pageSize: number;
  }): AsyncIterable<readonly StoredInvoice[]>;
  /** The bodies of the outbox messages of a shard that have not been dispatched. */
  undelivered(shard: string): AsyncIterable<readonly unknown[]>;
  /** The tombstones of a customer, over all shards. */
  archivedOf(customerId: string): Promise<readonly unknown[]>;
}
