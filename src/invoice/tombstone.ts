import { createHash } from 'node:crypto';
import { systemId } from '@payonce/jobs/documents';
import { z } from 'zod';
import {
  contentSchema,
  type Imported,
  type Invoice,
  type InvoiceContent,
  type NewInvoice,
  type StoredEntry,
} from './invoice.ts';
import { searchTerms } from './searchTerms.ts';

/**
 * Remains of an invoice that has moved to the archive. It has the invoice's id and partition, so a second import of the
 * id meets it as it would meet the invoice. It is small, because it stays for good: what it says of the content is a hash.
 */
export const tombstoneSchema = z.object({
  id: z.string(),
  shard: z.string(),
  type: z.literal('tombstone'),
  /** Hash of what was imported. */
  content: z.string(),
  /** Absent once the customer has been erased. */
  customerId: z.string().exactOptional(),
  /** ISO 8601, UTC. With the shard, it names the blob that holds the invoice. */
  archivedAt: z.string(),
  _etag: z.string(),
});
export type Tombstone = z.infer<typeof tombstoneSchema>;

/** The tombstone of an invoice, ready to be stored. Pure. */
export function tombstoneOf(
  imported: Imported,
  { shard, archivedAt }: { shard: string; archivedAt: string },
): Omit<Tombstone, '_etag'> {
  const { id, customerId, erased } = imported;
  const customer = erased === undefined ? { customerId } : {};
  return { id, shard, type: 'tombstone', content: importedHash(imported), ...customer, archivedAt };
}

/** The hash of what was imported as an invoice, which itself may have been erased. Pure. */
export function importedHash(imported: Imported): string {
  return imported.erased?.content ?? contentHash(imported);
}

/** Fields that an importer gives, which make two invoices the same. */
const contentFields = contentSchema.keyof().options;

/** Characters of base64url: 132 bits. */
const hashLength = 22;

/** A hash of what an importer gave: equal for the same content only (tombstone.ts). Pure. */
export function contentHash(content: InvoiceContent): string {
  const values = contentFields.map((field) => content[field] ?? null);
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, hashLength);
}

/** True if two invoices were imported with the same content. Times are normalised. */
export function sameContent(one: InvoiceContent, other: InvoiceContent): boolean {
  return contentFields.every((field) => one[field] === other[field]);
}

/** Stands in the place of the customer's id in an invoice whose customer has been erased. */
export const erasedCustomer = systemId('erased');

/** The parts of a timeline entry that are about the money or the process. Reasons and messages are free text. */
const keptOfEntry = ['at', 'what', 'by', 'write', 'paymentId', 'amountMinor', 'keyNumber', 'archivedAt'];

/**
 * An invoice without what tells of a person. The books keep its id, amounts, dates, status, the ids of payment, refunds and
 * disputes, and who did what. A hash of what was imported stays, so that the same row is a duplicate for good. Pure.
 */
export function withoutPerson(invoice: Invoice, { at, by }: { at: string; by: string }): NewInvoice {
  const kept = without(invoice, 'description', 'paymentMethod', 'reason', 'archivedAt', '_etag');
  const { reversals, importedDueAt = invoice.dueAt, timeline } = kept;
  return {
    ...kept,
    customerId: erasedCustomer,
    terms: searchTerms({ id: kept.id, customerId: erasedCustomer }),
    payment: without(kept.payment, 'method', 'paramsHash'),
    ...(reversals !== undefined && {
      reversals: {
        ...reversals,
        refunds: reversals.refunds.map((refund) => without(refund, 'reason', 'failure')),
      },
    }),
    timeline: [...timeline.map(keptOf), { at, what: 'customer erased', by }],
    erased: invoice.erased ?? { at, content: contentHash({ ...invoice, dueAt: importedDueAt }) },
  };
}

function keptOf(entry: StoredEntry): StoredEntry {
  const kept = Object.entries(entry).filter(([name]) => keptOfEntry.includes(name));
  return { ...Object.fromEntries(kept), at: entry.at, what: entry.what, by: entry.by };
}

function without<T extends object, Name extends keyof T & string>(
  object: T,
  ...names: readonly Name[]
): Omit<T, Name> {
  const dropped: readonly string[] = names;
  const kept = Object.entries(object).filter(([name]) => !dropped.includes(name));
  return Object.fromEntries(kept) as Omit<T, Name>;
}
