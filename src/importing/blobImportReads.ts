import type { ContainerClient, ContainerListBlobFlatSegmentResponse } from '@azure/storage-blob';
import { continuationAt, placeOf } from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import { z } from 'zod';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import { blobNameOf, importIdOf } from './blobImportWrites.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportRecords, ImportView } from './importRecords.ts';

/** Bytes of a blob that hold a page of rejections, each of which has less than 4 KB. */
const pageBytes = 524_288;

/** Milliseconds without a write of an import after which its process is taken for dead. Azure ends a request after 230 s. */
const silentMs = 300_000;

const newLine = 10;
const rejectionSchema = z.object({
  index: z.number(),
  field: z.string(),
  error: z.string(),
  row: z.unknown().optional(),
});

/** Metadata of an import's blob. */
export const importMetadataSchema = z.object({
  status: z.enum(['running', 'completed', 'stopped']),
  created: z.coerce.number(),
  duplicates: z.coerce.number(),
  rejected: z.coerce.number(),
  /** JSON, percent-encoded, because metadata travels in headers. */
  sums: z.string().transform(decoded).pipe(z.record(z.string(), z.number())).default({}),
  file: z
    .string()
    .transform(decoded)
    .pipe(
      z.object({
        fileName: z.string(),
        rows: z.number(),
        columns: z.array(z.string()),
        separator: z.string(),
      }),
    )
    .exactOptional(),
  /** Parts of the file that are recorded. */
  parts: z.coerce.number().default(0),
  by: z.string().transform(decodeURIComponent),
  startedat: z.string(),
  updatedat: z.string(),
});

/** Reads of imports for people, from the blobs of blobImportRecords.ts. */
export function importReads(
  container: ContainerClient,
  clock: Clock,
): Pick<ImportRecords, 'find' | 'list' | 'rejected'> {
  return {
    find: async (importId) => viewOf(importId, (await importBlob(container, importId))?.metadata, clock),

    async list({ day, continuation, pageSize }) {
      const blobs = container.listBlobsFlat({ prefix: `${day}/`, includeMetadata: true, ...inTime() });
      const pages = blobs.byPage({
        maxPageSize: pageSize,
        ...(continuation === undefined ? {} : { continuationToken: placeOf(z.string(), continuation) }),
      });
      const { value } = await pages.next();
      const page: ContainerListBlobFlatSegmentResponse | undefined = value;
      const next = page?.continuationToken;
      const items = (page?.segment.blobItems ?? []).flatMap(({ name, metadata }): ImportView[] => {
        const view = viewOf(importIdOf(name) ?? name, metadata, clock);
        return view === undefined ? [] : [view];
      });
      return { items, ...(next ? { continuation: continuationAt(next) } : {}) };
    },

    async rejected(importId, { continuation, pageSize }) {
      const found = await importBlob(container, importId);
      if (found === undefined) return undefined;
      const { blob, contentLength: size = 0 } = found;
      const from = continuation === undefined ? 0 : placeOf(z.int().min(0).max(size), continuation);
      if (from === size) return { items: [] };
      const bytes = await blob.downloadToBuffer(from, Math.min(pageBytes, size - from), inTime());
      const { items, length } = wholeLines(bytes, pageSize);
      return { items, ...(from + length < size ? { continuation: continuationAt(from + length) } : {}) };
    },
  };
}

/** The blob of an import, and what is known of it; undefined if there is none. */
export async function importBlob(container: ContainerClient, importId: string) {
  const name = blobNameOf(importId);
  if (name === undefined) return undefined;
  const blob = container.getAppendBlobClient(name);
  try {
    return { blob, ...(await blob.getProperties(inTime())) };
  } catch (error) {
    if (blobStatus(error) === 404) return undefined;
    throw error;
  }
}

/** The rejections of the first lines that are there in full, and the bytes they take. */
function wholeLines(bytes: Buffer, most: number): { items: Rejection[]; length: number } {
  const items: Rejection[] = [];
  let length = 0;
  while (items.length < most) {
    const end = bytes.indexOf(newLine, length);
    if (end === -1) break;
    items.push(rejectionSchema.parse(JSON.parse(bytes.toString('utf8', length, end))));
    length = end + 1;
  }
  return { items, length };
}

function viewOf(importId: string, metadata: unknown, clock: Clock): ImportView | undefined {
  const { data } = importMetadataSchema.safeParse(metadata);
  if (data === undefined) return undefined;
  const { startedat: startedAt, updatedat: updatedAt, status, parts: _, ...rest } = data;
  const isDead = status === 'running' && clock.now() - Date.parse(updatedAt) > silentMs;
  return { importId, ...rest, status: isDead ? 'interrupted' : status, startedAt, updatedAt };
}

function decoded(text: string): unknown {
  return JSON.parse(decodeURIComponent(text));
}
