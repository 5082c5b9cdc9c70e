import { randomUUID } from 'node:crypto';
import { NoClearAnswer, writeUntilClear } from '@payonce/jobs/documents';
import type { Invoice } from '../invoice/invoice.ts';
import { shardOf } from '../invoice/shard.ts';
import type { InvoiceStore, Updated, UpdateRequest } from '../invoice/store/invoiceStore.ts';
import { type Tombstone, tombstoneSchema } from '../invoice/tombstone.ts';
import { type ArchiveLine, archivedInvoice, fileName, linesOf } from './archiveFile.ts';
import { type ArchiveParts, countersOfArchiving } from './moveInvoices.ts';

/** The archive has no copy of an invoice that it should have. */
export class MissingFromArchive extends Error {
  override readonly name = 'MissingFromArchive';

  constructor(id: string, file: string) {
    super(`invoice ${JSON.stringify(id)} has moved to the archive, but is not in its file ${file}`);
  }
}

export type Restored =
  | { kind: 'restored'; archivedAt: string }
  | { kind: 'notFound' }
  /** It is in the database. */
  | { kind: 'notArchived' };

type Parts = ArchiveParts & { shards: number };

/** An archived invoice as it was when it moved; undefined if none of this id has. @throws {MissingFromArchive} {NewerVersion} */
export async function findArchived(parts: Parts, id: string): Promise<Invoice | undefined> {
  const tombstone = tombstoneIn(await parts.documents.read(shardOf(id, parts.shards), [id]));
  if (tombstone === undefined) return undefined;
  return archivedInvoice(await lineOf(parts, tombstone), tombstone);
}

/**
 * Puts an archived invoice back in the place of its tombstone, with a note in its timeline, and counts it as one of the database
 * again, in one transaction. Its copy in the archive stays.
 *
 * @throws {NoClearAnswer} {MissingFromArchive} {NewerVersion}
 */
export async function restoreInvoice(
  parts: Parts,
  id: string,
  { by, reason }: { by: string; reason?: string },
): Promise<Restored> {
  const { documents, clock, shards } = parts;
  const shard = shardOf(id, shards);
  const before = await documents.read(shard, [id]);
  const tombstone = tombstoneIn(before);
  if (tombstone === undefined) return { kind: before.length === 0 ? 'notFound' : 'notArchived' };
  const line = await lineOf(parts, tombstone);
  const invoice = archivedInvoice(line, tombstone);
  const write = randomUUID();
  const why = reason === undefined ? {} : { reason };
  const at = new Date(clock.now()).toISOString();
  const { archivedAt } = tombstone;
  const entry = { at, what: 'restored from the archive', by, ...why, archivedAt, write };
  const document = { ...line.invoice, shard, timeline: [...invoice.timeline, entry] };
  const counters = await countersOfArchiving(documents, { shard, now: clock.now() });
  const { archivedAt: _, ...after } = invoice;
  const written = await writeUntilClear<Tombstone, readonly unknown[]>(
    { documents, clock },
    {
      partition: shard,
      items: [tombstone],
      plan: () => [
        { kind: 'replace', document, version: tombstone._etag },
        ...counters.operations([{ before: invoice, after }]),
      ],
      onRefused: (operations, codes) => counters.onRefused(operations, codes),
      reread: () => documents.read(shard, [id]),
      isApplied: (stored) => JSON.stringify(stored).includes(write),
      keep: (items, stored) => items.filter(({ _etag }) => tombstoneIn(stored)?._etag === _etag),
    },
  );
  if (written.kind === 'unclear')
    throw new NoClearAnswer(`invoice ${id} could not be restored`, written.tries, written.cause);
  return written.kind === 'written' ? { kind: 'restored', archivedAt } : { kind: 'notArchived' };
}

function tombstoneIn(stored: readonly unknown[]): Tombstone | undefined {
  return stored.flatMap((document) => tombstoneSchema.safeParse(document).data ?? [])[0];
}

async function lineOf({ blobs }: Pick<Parts, 'blobs'>, tombstone: Tombstone): Promise<ArchiveLine> {
  const file = fileName(tombstone);
  const lines = linesOf((await blobs.read(file)) ?? '');
  const line = lines.find(({ invoice }) => invoice.id === tombstone.id);
  if (line === undefined) throw new MissingFromArchive(tombstone.id, file);
  return line;
}

/** Invoices that have moved to the archive. */
export type InvoiceArchive = ReturnType<typeof invoiceArchive>;

export function invoiceArchive(parts: Parts) {
  return {
    find: (id: string) => findArchived(parts, id),
    restore: (id: string, why: { by: string; reason?: string }) => restoreInvoice(parts, id, why),
  };
}

/** The same store, in which archived invoices can be read and changed, too: one that is to change is restored first. */
export function withArchive<Store extends Pick<InvoiceStore, 'find' | 'update'>>(
  invoices: Store,
  archive: InvoiceArchive,
  by: string,
): Store {
  return {
    ...invoices,
    async find(id) {
      return (await invoices.find(id)) ?? (await archive.find(id));
    },
    async update<R>(id: string, request: UpdateRequest<R>): Promise<Updated<R>> {
      const updated = await invoices.update(id, request);
      if (updated.kind !== 'notFound') return updated;
      const archived = await archive.find(id);
      if (archived === undefined) return updated;
      // Only to see if it is worth a restore: it is decided again on what is restored, under a name of its own.
      const decided = request.decide(archived, '');
      if (decided.kind === 'refuse') return { kind: 'refused', why: decided.why };
      await archive.restore(id, { by });
      return invoices.update(id, request);
    },
  };
}
