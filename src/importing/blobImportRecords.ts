import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Clock } from '@payonce/leases/clock';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import { importReads } from './blobImportReads.ts';
import { blobNameOf, newImportId } from './importIds.ts';
import type { ImportRecord, ImportRecords } from './importRecords.ts';

/**
 * Keeps each import as an append blob: its rejections as lines of JSON, and how far it has come as metadata. So a body full of
 * bad rows costs nothing in the database, from which invoices are being paid.
 */
export function blobImportRecords(container: ContainerClient, clock: Clock): ImportRecords {
  return {
    begin(by) {
      const importId = newImportId(clock.now());
      const blob = container.getAppendBlobClient(blobNameOf(importId) ?? importId);
      return recordIn(blob, { importId, by, clock });
    },

    ...importReads(container, clock),
  };
}

function recordIn(
  blob: AppendBlobClient,
  { importId, by, clock }: { importId: string; by: string; clock: Clock },
): ImportRecord {
  const startedAt = new Date(clock.now()).toISOString();
  let isThere = false;
  let size = 0;
  return {
    importId,
    async write(progress, rejections) {
      const { status, created, duplicates, rejected } = progress;
      const metadata = {
        status,
        created: `${created}`,
        duplicates: `${duplicates}`,
        rejected: `${rejected}`,
        // Metadata travels in headers.
        by: encodeURIComponent(by.toWellFormed()),
        startedat: startedAt,
        updatedat: new Date(clock.now()).toISOString(),
      };
      const isFirst = !isThere;
      if (isFirst) await blob.create({ metadata, ...inTime() });
      isThere = true;
      if (rejections.length > 0) {
        const lines = Buffer.from(rejections.map((rejection) => `${JSON.stringify(rejection)}\n`).join(''));
        await append(blob, lines, size);
        size += lines.length;
      }
      if (!isFirst) await blob.setMetadata(metadata, inTime());
    },
  };
}

/** Appends once, though a request whose answer was lost is sent again: the second one finds its bytes there. */
async function append(blob: AppendBlobClient, bytes: Buffer, size: number): Promise<void> {
  try {
    await blob.appendBlock(bytes, bytes.length, { conditions: { appendPosition: size }, ...inTime() });
  } catch (error) {
    if (blobStatus(error) !== 412) throw error;
    const { contentLength } = await blob.getProperties(inTime());
    if (contentLength !== size + bytes.length) throw error;
  }
}
