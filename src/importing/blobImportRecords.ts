import { randomUUID } from 'node:crypto';
import type {
  AppendBlobClient,
  ContainerClient,
  ContainerListBlobFlatSegmentResponse,
} from '@azure/storage-blob';
import { continuationAt, placeOf } from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import { z } from 'zod';
import { blobStatus, inTime } from '../platform/blobRequests.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportedFile, ImportRecord, ImportRecords, ImportView } from './importRecords.ts';

/** Milliseconds without a write of an import after which its process is taken for dead. Azure ends a request after 230 s. */
const silentMs = 300_000;
/** Bytes of a blob that hold a page of rejections, each of which has less than 4 KB. */
const pageBytes = 524_288;

const newLine = 10;
const rejectionSchema = z.object({
  index: z.number(),
  field: z.string(),
  error: z.string(),
  row: z.unknown().optional(),
});

const metadataSchema = z.object({
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
      const found = await lookFor(importId);
      const { data: before } = metadataSchema.safeParse(found?.metadata);
      if (found === undefined || before?.file === undefined) return undefined;
      if (part !== before.parts) return part < before.parts ? 'repeated' : 'notNext';
      return partOf({ ...found, importId, before: { ...before, file: before.file } }, clock);
    },

    find: async (importId) => viewOf(importId, (await lookFor(importId))?.metadata, clock),

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
      const found = await lookFor(importId);
      if (found === undefined) return undefined;
      const { blob, contentLength: size = 0 } = found;
      const from = continuation === undefined ? 0 : placeOf(z.int().min(0).max(size), continuation);
      if (from === size) return { items: [] };
      const bytes = await blob.downloadToBuffer(from, Math.min(pageBytes, size - from), inTime());
      const { items, length } = wholeLines(bytes, pageSize);
      return { items, ...(from + length < size ? { continuation: continuationAt(from + length) } : {}) };
    },
  };

  /** The blob of an import, and what is known of it; undefined if there is none. */
  async function lookFor(importId: string) {
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
  before: z.infer<typeof metadataSchema> & { file: ImportedFile };
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

function decoded(text: string): unknown {
  return JSON.parse(decodeURIComponent(text));
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

function viewOf(importId: string, metadata: unknown, clock: Clock): ImportView | undefined {
  const { data } = metadataSchema.safeParse(metadata);
  if (data === undefined) return undefined;
  const { startedat: startedAt, updatedat: updatedAt, status, parts: _, ...rest } = data;
  const isSilent = clock.now() - Date.parse(updatedAt) > silentMs;
  const seen = status === 'running' && isSilent ? 'interrupted' : status;
  return { importId, status: seen, ...rest, startedAt, updatedAt };
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
