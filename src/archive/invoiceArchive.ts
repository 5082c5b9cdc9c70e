import type { Invoice } from '../invoice/invoice.ts';
import type { ArchiveParts } from './moveInvoices.ts';
import { findArchived, type Restored, restoreInvoice } from './restoreInvoice.ts';

/** Invoices that have moved to the archive. */
export interface InvoiceArchive {
  /** One as it was when it moved, with `archivedAt`; undefined if none of this id has. @throws {MissingFromArchive} {NewerVersion} */
  find(id: string): Promise<Invoice | undefined>;
  /** Puts one back into the database. @throws {NoClearAnswer} {MissingFromArchive} {NewerVersion} */
  restore(id: string, why: { by: string; reason?: string }): Promise<Restored>;
}

export function invoiceArchive(parts: ArchiveParts & { shards: number }): InvoiceArchive {
  return {
    find: (id) => findArchived(parts, id),
    restore: (id, why) => restoreInvoice(parts, id, why),
  };
}
