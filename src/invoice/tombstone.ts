import { createHash } from 'node:crypto';
import { z } from 'zod';
import { contentSchema, type Imported, type InvoiceContent } from './invoice.ts';

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
