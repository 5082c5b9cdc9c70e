import { type Create, NoClearAnswer } from '../packages/jobs/src/documents/documentStore.ts';
import { writeUntilClear } from '../packages/jobs/src/documents/writeUntilClear.ts';
import { type ArchiveBlobs, type ArchiveLine, archivedInvoice, linesOf } from '../src/archive/archiveFile.ts';
import { type ArchiveParts, countersOfArchiving, transactionsOf } from '../src/archive/moveInvoices.ts';
import type { Invoice } from '../src/invoice/invoice.ts';
import { shardOf } from '../src/invoice/shard.ts';

/** Documents of one transaction: its 2 MB hold so many invoices, even if each has all of its 100 timeline entries. */
const mostTogether = 50;

export interface RestoredMonth {
  files: number;
  /** Copies of invoices in those files. */
  copies: number;
  /** Invoices that were stored, or would be. */
  restored: number;
  /** Copies of invoices that are there already, or have a tombstone there. */
  there: number;
}

/**
 * Stores the invoices of a month's files (`YYYY-MM`) in a database that has lost them. What is there stays as it is, so it can
 * be done again, and the newest copy of an invoice is restored first. `SHARDS` need not be what it was.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function restoreMonth(
  { documents, blobs, clock, shards }: ArchiveParts & { shards: number },
  { month, by, apply }: { month: string; by: string; apply: boolean },
): Promise<RestoredMonth> {
  const done = { files: 0, copies: 0, restored: 0, there: 0 };
  const seen = new Set<string>();
  for (const name of await newestFirst(blobs, month)) {
    const lines = linesOf((await blobs.read(name)) ?? '');
    done.files++;
    done.copies += lines.length;
    const byShard = Map.groupBy(lines, ({ invoice }) => shardOf(invoice.id, shards));
    for (const [shard, all] of byShard) {
      const copies = all.map((line) => ({ line, invoice: invoiceOf(shard, line) }));
      for (const some of transactionsOf(copies, { maps: 1, most: mostTogether }))
        done.restored += await restore(shard, some);
    }
  }
  return { ...done, there: done.copies - done.restored };

  async function restore(shard: string, copies: readonly Copy[]): Promise<number> {
    const missing = await missingOf(shard, copies);
    if (!apply) {
      // A dry run stores nothing, so it has to remember what it would have stored.
      const fresh = missing.filter(({ invoice }) => !seen.has(invoice.id));
      for (const { invoice } of fresh) seen.add(invoice.id);
      return fresh.length;
    }
    const counters = await countersOfArchiving(documents, { shard, now: clock.now() });
    const written = await writeUntilClear<Copy, readonly Copy[]>(
      { documents, clock },
      {
        partition: shard,
        items: missing,
        plan: (items) => [
          ...items.map((copy) => create(shard, copy)),
          ...counters.operations(
            items.map(({ invoice }) => {
              const { archivedAt: _, ...after } = invoice;
              return { after };
            }),
          ),
        ],
        onRefused: (operations, codes) => counters.onRefused(operations, codes),
        reread: (items) => missingOf(shard, items),
        keep: (_items, stillMissing) => stillMissing,
      },
    );
    if (written.kind === 'unclear')
      throw new NoClearAnswer(
        `invoices of shard ${shard} could not be restored`,
        written.tries,
        written.cause,
      );
    return written.kind === 'written' ? written.items.length : 0;
  }

  async function missingOf(shard: string, copies: readonly Copy[]): Promise<Copy[]> {
    const stored = await documents.read(
      shard,
      copies.map(({ invoice }) => invoice.id),
    );
    const known = new Set((stored as { id: string }[]).map(({ id }) => id));
    return copies.filter(({ invoice }) => !known.has(invoice.id));
  }

  function create(shard: string, { line, invoice }: Copy): Create {
    const at = new Date(clock.now()).toISOString();
    const entry = { at, what: 'restored from the archive', by, archivedAt: line.archivedAt };
    // The files stay where they are, in the shard that the copy had.
    const { shard: archivedIn } = line.invoice;
    const timeline = [...invoice.timeline, entry].map((one) =>
      one.archivedAt === undefined ? one : { archivedIn, ...one },
    );
    const document = { ...line.invoice, shard, timeline };
    return { kind: 'create', document };
  }
}

/** A line of a file, and the invoice that it holds. */
interface Copy {
  line: ArchiveLine;
  invoice: Invoice;
}

function invoiceOf(shard: string, line: ArchiveLine): Invoice {
  return archivedInvoice(line, { shard, archivedAt: line.archivedAt, _etag: '' });
}

async function newestFirst(blobs: ArchiveBlobs, month: string): Promise<string[]> {
  const names = await Array.fromAsync(blobs.list(`${month}/`));
  return names.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
}

function timeOf(name: string): string {
  return name.split('/').at(-1) ?? '';
}
