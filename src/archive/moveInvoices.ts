/**
 * How invoices move to the archive:
 *
 *   the database has the invoice
 *      │ 1. a file with the invoices is created; it is never changed
 *      ▼
 *   both have it: the database counts, the file is a copy that nobody looks for
 *      │ 2. ONE transaction: each invoice, if nobody has changed it since it was read, becomes a tombstone that names the
 *      ▼    file; the figures of the shard count it as archived
 *   the archive has it
 *
 * A process that dies between the two leaves a file that no tombstone names, and the next run begins with 1. So at no
 * moment is an invoice in neither of the two, and it is counted once. restoreInvoice.ts is the way back.
 */
import type { DocumentStore } from '../documents/documentStore.ts';
import { NoClearAnswer } from '../documents/storeAway.ts';
import { writeUntilClear } from '../documents/writeUntilClear.ts';
import { importedSchema } from '../invoice/invoice.ts';
import { tombstoneOf, tombstoneSchema } from '../invoice/tombstone.ts';
import type { Clock } from '../platform/clock.ts';
import type { ArchiveBlobs } from './archiveBlobs.ts';
import { type Candidate, fileName, fileOf } from './archiveFile.ts';
import { transactionsOf } from './archiveRoom.ts';
import { figuresOfMove } from './figuresOfMove.ts';

export interface ArchiveParts {
  documents: DocumentStore;
  blobs: ArchiveBlobs;
  clock: Clock;
}

export interface Moved {
  moved: number;
  /** Invoices that somebody changed since they were read. They stay. */
  changed: number;
}

/**
 * Moves invoices of one shard, as many as a transaction takes at once.
 *
 * @throws {NoClearAnswer} they have moved, or they have not: the next run finds out. {StoreAway} and what `assertHeld` throws
 */
export async function moveInvoices(
  parts: ArchiveParts,
  shard: string,
  candidates: readonly Candidate[],
  assertHeld: () => void,
): Promise<Moved> {
  const all = { moved: 0, changed: 0 };
  for (const some of transactionsOf(candidates, { maps: 2 })) {
    const { moved, changed } = await moveTogether(parts, shard, some, assertHeld);
    all.moved += moved;
    all.changed += changed;
  }
  return all;
}

async function moveTogether(
  { documents, blobs, clock }: ArchiveParts,
  shard: string,
  candidates: readonly Candidate[],
  assertHeld: () => void,
): Promise<Moved> {
  assertHeld();
  const archivedAt = await createFile({ blobs, clock }, shard, candidates);
  const figures = await figuresOfMove(documents, { shard, now: clock.now() });
  const written = await writeUntilClear<Candidate, readonly unknown[]>(
    { documents, clock },
    {
      partition: shard,
      items: candidates,
      plan: operationsOf,
      reread: (items) =>
        documents.read(
          shard,
          items.map(({ invoice }) => invoice.id),
        ),
      isApplied: (stored) =>
        stored.some((document) => tombstoneSchema.safeParse(document).data?.archivedAt === archivedAt),
      keep(items, stored) {
        const versions = new Map(
          (stored as { id: string; _etag: string }[]).map((one) => [one.id, one._etag]),
        );
        return items.filter(({ invoice }) => versions.get(invoice.id) === invoice._etag);
      },
      onRefused: (operations, codes) => figures.onRefused(operations, codes),
      beforeTry: assertHeld,
    },
  );
  switch (written.kind) {
    case 'written':
      return { moved: written.items.length, changed: candidates.length - written.items.length };
    case 'nothingLeft':
      return { moved: 0, changed: candidates.length };
    case 'unclear':
      throw new NoClearAnswer(`invoices of shard ${shard} could not be moved`, written.tries, written.cause);
  }

  function operationsOf(items: readonly Candidate[]) {
    const tombstones = items.map(({ document, invoice }) => ({
      kind: 'replace' as const,
      document: tombstoneOf(importedSchema.parse(document), { shard, archivedAt }),
      version: invoice._etag,
    }));
    const changes = items.map(({ invoice }) => ({ before: invoice, after: { ...invoice, archivedAt } }));
    return [...tombstones, ...figures.operations(changes)];
  }
}

/** Creates the file of these invoices. Returns its time, which names it: no other file of the shard has the same. */
async function createFile(
  { blobs, clock }: Pick<ArchiveParts, 'blobs' | 'clock'>,
  shard: string,
  candidates: readonly Candidate[],
): Promise<string> {
  for (let at = clock.now(); ; at++) {
    const archivedAt = new Date(at).toISOString();
    const created = await blobs.create(fileName({ shard, archivedAt }), fileOf(candidates, archivedAt));
    if (created === 'stored') return archivedAt;
  }
}
