/**
 * The files of the archive. Each has the invoices of one shard that moved together, as lines of JSON, and is named after
 * the month, the shard and the moment: `2026-01/0a/20260105T030405.678Z.jsonl`.
 */
import { createHash } from 'node:crypto';
import { readableDocument } from '@payonce/jobs/documents';
import { z } from 'zod';
import { type Invoice, invoiceSchema } from '../invoice/invoice.ts';
import type { Tombstone } from '../invoice/tombstone.ts';

/** A document as it is stored, with all its fields: a newer release may have added some. */
export type StoredInvoice = { readonly id: string } & Readonly<Record<string, unknown>>;

/** An invoice to be archived: as it is stored, and as it is understood. */
export interface Candidate {
  document: StoredInvoice;
  invoice: Invoice;
}

const lineSchema = z.object({ archivedAt: z.string(), invoice: z.looseObject({ id: z.string() }) });
export type ArchiveLine = z.infer<typeof lineSchema>;

/** The file of the invoices of a shard that moved at this time (ISO 8601, UTC). */
export function fileName({ shard, archivedAt }: { shard: string; archivedAt: string }): string {
  return `${archivedAt.slice(0, 7)}/${shard}/${archivedAt.replaceAll(/[-:]/g, '')}.jsonl`;
}

export function fileOf(invoices: readonly Candidate[], archivedAt: string): string {
  return invoices
    .map(({ document }) => `${JSON.stringify({ archivedAt, invoice: ownFields(document) })}\n`)
    .join('');
}

/** The prefix of the files of a shard and day (`YYYY-MM-DD`). */
export function filesOfDay(shard: string, day: string): string {
  return `${day.slice(0, 7)}/${shard}/${day.replaceAll('-', '')}T`;
}

/** Names what an invoice has, as it is stored or as a file has it: equal for the same content only. Pure. */
export function copyName(invoice: StoredInvoice): string {
  // A file that is read has its fields in another order.
  const fields = Object.entries(ownFields(invoice)).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url');
}

/** The lines of a file. @throws if it is none */
export function linesOf(text: string): ArchiveLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => lineSchema.parse(JSON.parse(line)));
}

/** The text of a file with another invoice in the line of an id; as it was if it has no such line. Pure. */
export function withLine(
  text: string,
  id: string,
  change: (line: ArchiveLine) => { readonly id: string },
): string {
  return linesOf(text)
    .map((line) => (line.invoice.id === id ? { ...line, invoice: change(line) } : line))
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}

/** An archived invoice as the app understands it, with what its tombstone says. @throws {NewerVersion} */
export function archivedInvoice(
  { invoice }: ArchiveLine,
  { shard, archivedAt, _etag }: Pick<Tombstone, 'shard' | 'archivedAt' | '_etag'>,
): Invoice {
  return readableDocument({ ...invoice, shard, archivedAt, _etag }, invoiceSchema, 'invoice');
}

/** Fields that Cosmos adds to each document (https://learn.microsoft.com/rest/api/cosmos-db/documents). */
const systemFields = new Set(['_rid', '_self', '_etag', '_attachments', '_ts']);

function ownFields(document: StoredInvoice): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !systemFields.has(name)));
}

/** Where archived invoices are kept: texts under names. */
export interface ArchiveBlobs {
  /**
   * Stores a text, unless another one has the name. `stored`: it is there now, perhaps since an earlier try of this call.
   * `taken`: another text is.
   */
  create(name: string, text: string): Promise<'stored' | 'taken'>;
  read(name: string): Promise<string | undefined>;
  /** Changes the text of a file; false if there is none. Only the erasure of a customer does. */
  rewrite(name: string, change: (text: string) => string): Promise<boolean>;
  list(prefix: string): AsyncIterable<string>;
}

/** Reads of the database. All may reject with `StoreAway`. */
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
  archivedOf(customerId: string): Promise<readonly unknown[]>;
}
