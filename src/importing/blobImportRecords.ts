import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Clock } from '@payonce/leases/clock';
import type { z } from 'zod';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import { importBlob, importMetadataSchema, importReads } from './blobImportReads.ts';
import type { Rejection } from './checkInvoice.ts';
import { blobNameOf, newImportId } from './importIds.ts';
import type { ImportedFile, ImportRecord, ImportRecords, ImportView } from './importRecords.ts';

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
      const metadata = metadataOf({
        ...progress,
        by,
        startedAt,
        updatedAt: new Date(clock.now()).toISOString(),
      });
      const isFirst = !isThere;
      if (isFirst) await blob.create({ metadata, ...inTime() });
      isThere = true;
      size = await appendLines(blob, rejections, size);
      if (!isFirst) await blob.setMetadata(metadata, inTime());
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
      await appendLines(blob, rejections, contentLength);
      // Rejections have moved the ETag; those of another try would be behind other bytes.
      const conditions = rejections.length > 0 || etag === undefined ? {} : { conditions: { ifMatch: etag } };
      await blob.setMetadata(metadata, { ...conditions, ...inTime() });
    },
  };
}

/** Adds rejections as lines, and gives the size with them. */
async function appendLines(
  blob: AppendBlobClient,
  rejections: readonly Rejection[],
  size: number,
): Promise<number> {
  if (rejections.length === 0) return size;
  const lines = Buffer.from(rejections.map((rejection) => `${JSON.stringify(rejection)}\n`).join(''));
  await append(blob, lines, size);
  return size + lines.length;
}

function metadataOf({
  status,
  created,
  duplicates,
  rejected,
  sums,
  by,
  startedAt,
  updatedAt,
  file,
  parts,
}: Omit<ImportView, 'importId' | 'status'> & { status: string; parts?: number }): Record<string, string> {
  return {
    status,
    created: `${created}`,
    duplicates: `${duplicates}`,
    rejected: `${rejected}`,
    sums: encodeURIComponent(JSON.stringify(sums)),
    by: encodeURIComponent(by.toWellFormed()),
    startedat: startedAt,
    updatedat: updatedAt,
    ...(file === undefined ? {} : { file: encodeURIComponent(JSON.stringify(file).toWellFormed()) }),
    ...(parts === undefined ? {} : { parts: `${parts}` }),
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
