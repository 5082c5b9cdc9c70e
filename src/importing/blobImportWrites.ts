import { randomUUID } from 'node:crypto';
import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Clock } from '@payonce/leases/clock';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportRecords, ImportView } from './importRecords.ts';

/**
 * Writes the record of a body of rows: an append blob, with its rejections as lines of JSON, and how far it has come as metadata. So
 * a body full of bad rows costs nothing in the database, from which invoices are being paid.
 */
export function importWrites(container: ContainerClient, clock: Clock): Pick<ImportRecords, 'begin'> {
  return {
    begin(by) {
      const importId = newImportId(clock.now());
      const blob = container.getAppendBlobClient(blobNameOf(importId) ?? importId);
      const startedAt = new Date(clock.now()).toISOString();
      let isThere = false;
      let size = 0;
      return {
        importId,
        async write(progress, rejections) {
          const updatedAt = new Date(clock.now()).toISOString();
          const metadata = metadataOf({ ...progress, by, startedAt, updatedAt });
          const isFirst = !isThere;
          if (isFirst) await blob.create({ metadata, ...inTime() });
          isThere = true;
          if (rejections.length > 0) size = await appendLines(blob, rejections, size);
          if (!isFirst) await blob.setMetadata(metadata, inTime());
        },
      };
    },
  };
}

/** Adds rejections as lines, and gives the size with them. */
export async function appendLines(
  blob: AppendBlobClient,
  rejections: readonly Rejection[],
  size: number,
): Promise<number> {
  const lines = Buffer.from(rejections.map((rejection) => `${JSON.stringify(rejection)}\n`).join(''));
  await append(blob, lines, size);
  return size + lines.length;
}

/** An import as the metadata of its blob, which blobImportReads.ts reads. */
export function metadataOf(
  view: Omit<ImportView, 'importId' | 'status'> & { status: string; parts?: number },
): Record<string, string> {
  const { file, parts } = view;
  return {
    status: view.status,
    created: `${view.created}`,
    duplicates: `${view.duplicates}`,
    rejected: `${view.rejected}`,
    sums: encodeURIComponent(JSON.stringify(view.sums)),
    by: encodeURIComponent(view.by.toWellFormed()),
    startedat: view.startedAt,
    updatedat: view.updatedAt,
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

const msPerDay = 86_400_000;

/** The id of a new import: its day (UTC), the milliseconds of the day, and something random. */
export function newImportId(now: number): string {
  const day = new Date(now).toISOString().slice(0, 10);
  const ms = String(now % msPerDay).padStart(8, '0');
  return `${day}-${ms}-${randomUUID().slice(0, 8)}`;
}

const shape = /^(\d{4}-\d{2}-\d{2})-(\d{8})-([0-9a-f]{8})$/;

/** The name of an import's blob: in a listing by name the newest of a day comes first. Undefined: no import has this id. */
export function blobNameOf(importId: string): string | undefined {
  const [, day, ms, random] = shape.exec(importId) ?? [];
  return day === undefined ? undefined : `${day}/${reversed(ms)}-${random}`;
}

/** The id of the import whose blob has this name; undefined if it is not the name of one. */
export function importIdOf(blobName: string): string | undefined {
  const [, day, ms, random] = shape.exec(blobName.replace('/', '-')) ?? [];
  return day === undefined ? undefined : `${day}-${reversed(ms)}-${random}`;
}

function reversed(ms = '0'): string {
  return String(msPerDay - Number(ms)).padStart(8, '0');
}
