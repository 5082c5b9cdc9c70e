import type { Create } from '../documents/documentStore.ts';
import { NoClearAnswer } from '../documents/storeAway.ts';
import { writeUntilClear } from '../documents/writeUntilClear.ts';
import { shardOf } from '../invoice/shard.ts';
import type { ArchiveBlobs } from './archiveBlobs.ts';
import { type ArchiveLine, archivedInvoice, linesOf } from './archiveFile.ts';
import type { ArchiveParts } from './moveInvoices.ts';

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
      for (let at = 0; at < all.length; at += mostTogether) {
        const restored = await restore(shard, all.slice(at, at + mostTogether));
        done.restored += restored;
      }
    }
  }
  return { ...done, there: done.copies - done.restored };

  async function restore(shard: string, lines: readonly ArchiveLine[]): Promise<number> {
    const missing = await missingOf(shard, lines);
    if (!apply) {
      // A dry run stores nothing, so it has to remember what it would have stored.
      const fresh = missing.filter(({ invoice }) => !seen.has(invoice.id));
      for (const { invoice } of fresh) seen.add(invoice.id);
      return fresh.length;
    }
    const written = await writeUntilClear<ArchiveLine, readonly ArchiveLine[]>(
      { documents, clock },
      {
        partition: shard,
        items: missing,
        plan: (items) => items.map((line) => create(shard, line)),
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

  async function missingOf(shard: string, lines: readonly ArchiveLine[]): Promise<ArchiveLine[]> {
    const stored = await documents.read(
      shard,
      lines.map(({ invoice }) => invoice.id),
    );
    const known = new Set((stored as { id: string }[]).map(({ id }) => id));
    return lines.filter(({ invoice }) => !known.has(invoice.id));
  }

  function create(shard: string, line: ArchiveLine): Create {
    const { archivedAt } = line;
    const { timeline } = archivedInvoice(line, { shard, archivedAt, _etag: '' });
    const at = new Date(clock.now()).toISOString();
    const entry = { at, what: 'restored from the archive', by, archivedAt };
    // Nobody counts them here: without the mark the next sweep sees that, and counts the shard.
    const { counted: _, ...invoice } = line.invoice;
    return {
      kind: 'create',
      document: { ...invoice, shard, timeline: [...timeline, entry] } as Create['document'],
    };
  }
}

async function newestFirst(blobs: ArchiveBlobs, month: string): Promise<string[]> {
  const names = await Array.fromAsync(blobs.list(`${month}/`));
  return names.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
}

function timeOf(name: string): string {
  return name.split('/').at(-1) ?? '';
}
