import type { DocumentStore } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { PoisonStore } from '@payonce/jobs/work-items';
import type { Lease } from '@payonce/leases';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { ArchiveBlobs, ArchiveStore } from './archiveFile.ts';
import { archiveSettled } from './archiveSettled.ts';
import { type CustomerParts, customers } from './customers.ts';
import { invoiceArchive, withArchive } from './restoreInvoice.ts';

/** When invoices move to the archive: NCRONTAB with seconds. Each run takes what the last one had no time for. */
export const archiveSchedule = '0 20 * * * *';

export interface ArchivePorts {
  store: ArchiveStore;
  blobs: ArchiveBlobs;
}

export function archiving(
  cloud: {
    documents: DocumentStore;
    archive: ArchivePorts;
    invoices: InvoiceStore;
    poison: PoisonStore;
  } & Pick<CustomerParts, 'writeReceipt'>,
  { shards, keepDays }: { shards: number; keepDays: number },
  { stopping, instance }: { stopping: AbortSignal; instance: Instance },
) {
  const { documents, poison, invoices, writeReceipt } = cloud;
  const parts = { documents, ...cloud.archive, invoices, shards, clock: instance.clock };
  const archive = invoiceArchive(parts);
  return {
    archive,
    customers: customers({ ...parts, poison, writeReceipt }),
    invoices: withArchive(invoices, archive, instance.name),
    /** A tick of the timer that moves them. */
    move: (lease: Lease) => archiveSettled({ ...parts, keepDays, instance }, lease, stopping),
  };
}
