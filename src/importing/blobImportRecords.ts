import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Clock } from '@payonce/leases/clock';
import type { z } from 'zod';
import { inTime } from '../platform/blobRequests.ts';
import { importBlob, importMetadataSchema, importReads } from './blobImportReads.ts';
import { appendLines, blobNameOf, importWrites, metadataOf, newImportId } from './blobImportWrites.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportedFile, ImportRecord, ImportRecords } from './importRecords.ts';

/** Keeps each import as an append blob. A file comes in parts, each of which adds to one blob. */
export function blobImportRecords(container: ContainerClient, clock: Clock): ImportRecords {
  return {
    ...importWrites(container, clock),
    ...importReads(container, clock),

    async beginFile(by, file) {
      const importId = newImportId(clock.now());
      const at = new Date(clock.now()).toISOString();
      const begun = { status: 'running', created: 0, duplicates: 0, rejected: 0, sums: {} } as const;
      const metadata = metadataOf({ ...begun, by, startedAt: at, updatedAt: at, file, parts: 0 });
      await container.getAppendBlobClient(blobNameOf(importId) ?? importId).create({ metadata, ...inTime() });
      return importId;
    },

    async part(importId, part) {
      const found = await importBlob(container, importId);
      const { data: before } = importMetadataSchema.safeParse(found?.metadata);
      if (found === undefined || before?.file === undefined) return undefined;
      if (part !== before.parts) return part < before.parts ? 'repeated' : 'notNext';
      return partOf({ ...found, importId, before: { ...before, file: before.file } }, clock);
    },
  };
}

type PartFound = {
  importId: string;
  blob: AppendBlobClient;
  etag?: string;
  contentLength?: number;
  before: z.infer<typeof importMetadataSchema> & { file: ImportedFile };
};

/** The record of a part, which is written once, when it ends. @throws if another try of the part was faster */
function partOf({ importId, blob, etag, contentLength = 0, before }: PartFound, clock: Clock): ImportRecord {
  const rejections: Rejection[] = [];
  return {
    importId,
    async write(progress, more) {
      rejections.push(...more);
      if (progress.status === 'running') return;
      const created = before.created + progress.created;
      const duplicates = before.duplicates + progress.duplicates;
      const rejected = before.rejected + progress.rejected;
      const isWhole = created + duplicates + rejected >= before.file.rows;
      const sums: Record<string, number> = { ...before.sums };
      for (const [currency, sum] of Object.entries(progress.sums))
        sums[currency] = (sums[currency] ?? 0) + sum;
      const metadata = metadataOf({
        ...before,
        status: progress.status === 'stopped' ? 'stopped' : isWhole ? 'completed' : 'running',
        created,
        duplicates,
        rejected,
        sums,
        parts: before.parts + 1,
        startedAt: before.startedat,
        updatedAt: new Date(clock.now()).toISOString(),
      });
      if (rejections.length > 0) await appendLines(blob, rejections, contentLength);
      // Rejections have moved the ETag; those of another try would be behind other bytes.
      const conditions = rejections.length > 0 || etag === undefined ? {} : { conditions: { ifMatch: etag } };
      await blob.setMetadata(metadata, { ...conditions, ...inTime() });
    },
  };
}
