/**
 * Everything that is kept about a customer, to be handed out or erased: invoices in the database, those in the archive with
 * their earlier copies, and receipts. What else names a customer ends by itself (docs/retention.md).
 */
import { allPages, readableDocuments, writeUntilClear } from '@payonce/jobs/documents';
import { functionBudgetMs } from '@payonce/jobs/stopping';
import type { PoisonStore } from '@payonce/jobs/work-items';
import { withoutPerson } from '../invoice/erasure.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type Tombstone, tombstoneSchema } from '../invoice/tombstone.ts';
import { type ArchiveStore, archivedInvoice, fileName, type StoredInvoice, withLine } from './archiveFile.ts';
import { type Kept, whyKept } from './archiveSettled.ts';
import type { ArchiveParts } from './moveInvoices.ts';
import { findArchived, MissingFromArchive } from './restoreInvoice.ts';

/** A message that orders a receipt or a notification is gone by then: the outbox keeps it for a week (ms). */
const settledMs = 8 * 86_400_000;
/** The platform ends a request after 230 s; the last invoice needs some of it (ms). */
const withinMs = Math.min(120_000, functionBudgetMs);
const pageSize = 500;

export interface CustomerParts extends ArchiveParts {
  store: ArchiveStore;
  invoices: Pick<InvoiceStore, 'list'>;
  poison: Pick<PoisonStore, 'list'>;
  /** Writes the receipt of an invoice in the place of the one that is there; nothing if it is not paid. */
  writeReceipt: (invoice: Omit<Invoice, '_etag'>) => Promise<void>;
  shards: number;
}

/** `named` by a message that waits; `busy` if others were changing it; `missing`: the archive lacks a copy that it should have. */
export type NotErased = Kept | 'named' | 'busy' | 'missing';

export interface Erased {
  erased: number;
  left: { id: string; why: NotErased }[];
  /** False if there was no time for all of them: ask again. */
  complete: boolean;
}

export interface Customers {
  /** The invoices of a customer, first those in the database. @throws {MissingFromArchive} {NewerVersion} */
  invoicesOf(customerId: string): AsyncIterable<Invoice>;
  /** Erases what tells of the customer from all invoices that have settled. Can be asked for again. */
  erase(customerId: string, by: string): Promise<Erased>;
}

export function customers(parts: CustomerParts): Customers {
  const { documents, store, blobs, invoices, poison, writeReceipt, clock } = parts;
  return { invoicesOf, erase };

  async function* invoicesOf(customerId: string): AsyncGenerator<Invoice> {
    yield* stored(customerId);
    for (const { id } of await tombstonesOf(customerId)) {
      const invoice = await findArchived(parts, id);
      if (invoice !== undefined) yield invoice;
    }
  }

  async function* stored(customerId: string): AsyncGenerator<Invoice> {
    const list = { customer: customerId, pageSize };
    for await (const page of allPages((place) => invoices.list({ ...list, ...place }))) yield* page;
  }

  async function tombstonesOf(customerId: string): Promise<Tombstone[]> {
    return readableDocuments(await store.archivedOf(customerId), tombstoneSchema, 'tombstone');
  }

  async function erase(customerId: string, by: string): Promise<Erased> {
    const until = clock.monotonic() + withinMs;
    const note = { at: new Date(clock.now()).toISOString(), by };
    const before = new Date(clock.now() - settledMs).toISOString();
    const poisoned = await resourcesOf(poison);
    const named = new Map<string, ReadonlySet<string>>();
    const done: Erased = { erased: 0, left: [], complete: true };
    for await (const invoice of stored(customerId)) {
      if (clock.monotonic() > until) return { ...done, complete: false };
      count(invoice.id, (await whyLeft(invoice)) ?? (await eraseStored(invoice).catch(ifMissing)));
    }
    for (const tombstone of await tombstonesOf(customerId)) {
      if (clock.monotonic() > until) return { ...done, complete: false };
      const isWaitedFor = await isNamed(tombstone.shard, tombstone.id);
      count(tombstone.id, isWaitedFor ? 'named' : await eraseArchived(tombstone).catch(ifMissing));
    }
    return done;

    function count(id: string, why: NotErased | undefined): void {
      if (why === undefined) done.erased++;
      else done.left.push({ id, why });
    }

    async function whyLeft(invoice: Invoice): Promise<NotErased | undefined> {
      const kept = whyKept(invoice, before);
      if (kept !== undefined && kept !== 'tooManyDays') return kept;
      return (await isNamed(invoice.shard, invoice.id)) ? 'named' : undefined;
    }

    /** True if a message waits that would write down again what is erased. */
    async function isNamed(shard: string, id: string): Promise<boolean> {
      const inShard =
        named.get(shard) ?? new Set((await Array.fromAsync(store.undelivered(shard), mentionedIn)).flat());
      named.set(shard, inShard);
      return inShard.has(id) || poisoned.has(id);
    }

    /** The invoice comes last: until then the next call finds all of it again. */
    async function eraseStored(invoice: Invoice): Promise<NotErased | undefined> {
      const document = await eraseCopies(invoice);
      return replaced(invoice.shard, document, invoice._etag);
    }

    async function eraseArchived(tombstone: Tombstone): Promise<NotErased | undefined> {
      const invoice = await findArchived(parts, tombstone.id);
      if (invoice?.archivedAt === undefined) return 'busy';
      // An earlier call crashed between the copies, of which this is the last, and the tombstone.
      if (invoice.erased === undefined) await eraseCopies(invoice);
      const { customerId: _, _etag, ...document } = tombstone;
      return replaced(tombstone.shard, document, _etag);
    }

    /** Erases earlier copies first: the last one says where they are. @throws {MissingFromArchive} */
    async function eraseCopies(invoice: Invoice): Promise<Omit<Invoice, '_etag'>> {
      const erased = withoutPerson(invoice, note);
      await writeReceipt(erased);
      const { id } = invoice;
      for (const { shard, archivedAt } of copiesOf(invoice)) {
        const file = fileName({ shard, archivedAt });
        const isThere = await blobs.rewrite(file, (text) =>
          withLine(text, id, (line) => {
            const copy = archivedInvoice(line, { shard, archivedAt, _etag: '' });
            return copy.erased === undefined ? withoutPerson(copy, note) : line.invoice;
          }),
        );
        if (!isThere) throw new MissingFromArchive(id, file);
      }
      return erased;
    }

    /** If it was replaced and the answer was lost, it counts as busy: the next call no longer finds it. */
    async function replaced(shard: string, document: StoredInvoice, version: string) {
      const written = await writeUntilClear<StoredInvoice, readonly unknown[]>(
        { documents, clock },
        {
          partition: shard,
          items: [document],
          plan: () => [{ kind: 'replace', document, version }],
          reread: () => documents.read(shard, [document.id]),
          keep: (items, there) =>
            items.filter(() => (there as Tombstone[]).some(({ _etag }) => _etag === version)),
        },
      );
      return written.kind === 'written' ? undefined : ('busy' as const);
    }
  }
}

/** Copies of an invoice in the archive, the latest last: a restore leaves its copy there, perhaps in a shard of another `SHARDS`. */
function copiesOf({ shard, archivedAt: latest, timeline }: Invoice): { shard: string; archivedAt: string }[] {
  const own = { archivedAt: latest, archivedIn: shard };
  return [...timeline, own].flatMap(({ archivedAt, archivedIn }) =>
    typeof archivedAt === 'string'
      ? [{ archivedAt, shard: typeof archivedIn === 'string' ? archivedIn : shard }]
      : [],
  );
}

function ifMissing(error: unknown): NotErased {
  if (error instanceof MissingFromArchive) return 'missing';
  throw error;
}

/** Fields of a message by which it names an invoice: payment commands use the one, work items the other. */
const names = new Set(['invoiceId', 'resourceId']);

/** The invoices that messages name, wherever in them. It finds too much rather than too little. Pure. */
function mentionedIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(mentionedIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'string' && names.has(name) ? [member] : mentionedIn(member),
  );
}

/** Resource ids of dead-lettered work items. */
export async function resourcesOf(poison: Pick<PoisonStore, 'list'>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let behind: string | undefined; ;) {
    const page = await poison.list(100, behind);
    for (const { resourceId } of page) ids.add(resourceId);
    behind = page.at(-1)?.id;
    if (page.length < 100 || behind === undefined) return ids;
  }
}
