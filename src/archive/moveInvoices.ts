/**
 * The move of invoices to the archive:
 *
 *   the database has the invoice
 *      │ 1. a file with the invoices is created; it is never changed
 *      ▼
 *   both have it: the database counts, the file is a copy that nobody looks for
 *      │ 2. half an hour later or more, in another run, ONE transaction: each invoice, if nobody has changed it since it was
 *      ▼    read, becomes a tombstone that names the file; the counters of the shard count it as archived
 *   the archive has it
 *
 * A process that crashes between the two leaves a file that no tombstone names; the next run goes on with it, or begins with 1.
 * So an invoice is always in one of the two, and counted once, even if the storage account fails over to a copy that lacks its last
 * minutes: by the time of the transaction the file is old enough to be in it. restoreInvoice.ts is the way back.
 */
import {
  type DocumentStore,
  maxOperations,
  NoClearAnswer,
  type Operation,
  refusedBecause,
  writeUntilClear,
} from '@payonce/jobs/documents';
import type { Clock } from '@payonce/leases/clock';
import {
  type Change,
  type Countable,
  invoiceCountsOf,
  createDays,
  dayId,
  counterPatches,
  mostIncrements,
  standingId,
  standingOf,
} from '../invoice/counters/counters.ts';
import { type Invoice, importedSchema } from '../invoice/invoice.ts';
import { tombstoneOf, tombstoneSchema } from '../invoice/tombstone.ts';
import {
  type ArchiveBlobs,
  type Candidate,
  copyName,
  fileName,
  fileOf,
  filesOfDay,
  linesOf,
} from './archiveFile.ts';

export interface ArchiveParts {
  documents: DocumentStore;
  blobs: ArchiveBlobs;
  clock: Clock;
}

/** Age of a file from which on a copy of the storage account has it (ms). Geo-replication usually takes less than 15 minutes. */
const replicatedAfterMs = 30 * 60_000;
/** Age up to which files are looked through for invoices that can move (ms): what has not moved by then is copied anew. */
const lookBackMs = 3 * 3_600_000;

/** Copies of a shard's invoices that are recent enough, by the names of their content: when the file was written (ISO 8601). */
export async function recentCopies(
  { blobs, clock }: Pick<ArchiveParts, 'blobs' | 'clock'>,
  shard: string,
): Promise<ReadonlyMap<string, string>> {
  const from = new Date(clock.now() - lookBackMs).toISOString();
  const days = new Set([from.slice(0, 10), new Date(clock.now()).toISOString().slice(0, 10)]);
  const copies = new Map<string, string>();
  for (const day of days) {
    for await (const name of blobs.list(filesOfDay(shard, day))) {
      if (name < fileName({ shard, archivedAt: from })) continue;
      for (const { archivedAt, invoice } of linesOf((await blobs.read(name)) ?? ''))
        copies.set(copyName(invoice), archivedAt);
    }
  }
  return copies;
}

/**
 * Copies invoices of one shard to a file, or moves those that a file of an earlier run has had for long enough, as many as a
 * transaction takes at once. `changed`: somebody changed them since they were read, and they stay.
 *
 * @throws {NoClearAnswer} some have moved, or they have not: the next run finds out. {StoreAway} and what `assertHeld` throws
 */
export async function archiveInvoices(
  parts: ArchiveParts,
  shard: string,
  candidates: readonly Candidate[],
  { copies, assertHeld }: { copies: ReadonlyMap<string, string>; assertHeld: () => void },
): Promise<{ copied: number; moved: number; changed: number }> {
  const all = { copied: 0, moved: 0, changed: 0 };
  const byCopy = Map.groupBy(candidates, ({ document }) => copies.get(copyName(document)));
  for (const [archivedAt, some] of byCopy) {
    if (archivedAt === undefined) {
      assertHeld();
      await createFile(parts, shard, some);
      all.copied += some.length;
    } else if (parts.clock.now() - Date.parse(archivedAt) >= replicatedAfterMs) {
      for (const together of transactionsOf(some, { maps: 2 })) {
        const moved = await moveTogether(parts, shard, together, { archivedAt, assertHeld });
        all.moved += moved;
        all.changed += together.length - moved;
      }
    }
  }
  return all;
}

async function moveTogether(
  { documents, clock }: ArchiveParts,
  shard: string,
  candidates: readonly Candidate[],
  { archivedAt, assertHeld }: { archivedAt: string; assertHeld: () => void },
): Promise<number> {
  const counters = await countersOfArchiving(documents, { shard, now: clock.now() });
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
      onRefused: (operations, codes) => counters.onRefused(operations, codes),
      beforeTry: assertHeld,
    },
  );
  if (written.kind === 'unclear')
    throw new NoClearAnswer(`invoices of shard ${shard} could not be moved`, written.tries, written.cause);
  return written.kind === 'written' ? written.items.length : 0;

  function operationsOf(items: readonly Candidate[]) {
    const tombstones = items.map(({ document, invoice }) => ({
      kind: 'replace' as const,
      document: tombstoneOf(importedSchema.parse(document), { shard, archivedAt }),
      version: invoice._etag,
    }));
    const changes = items.map(({ invoice }) => ({ before: invoice, after: { ...invoice, archivedAt } }));
    return [...tombstones, ...counters.operations(changes)];
  }
}

/** Creates the file of these invoices. Its time names it: no other file of the shard has the same. */
async function createFile(
  { blobs, clock }: Pick<ArchiveParts, 'blobs' | 'clock'>,
  shard: string,
  candidates: readonly Candidate[],
): Promise<void> {
  for (let at = clock.now(); ; at++) {
    const archivedAt = new Date(at).toISOString();
    const created = await blobs.create(fileName({ shard, archivedAt }), fileOf(candidates, archivedAt));
    if (created === 'stored') return;
  }
}

/** Upper bound of the operations that write these counts. `maps`: 2 if they move from one map of the counters to the other. */
export function counterOperations(counts: ReadonlyMap<string, string>, maps: 1 | 2): number {
  const documents = new Set([standingId, ...counts.values()]).size;
  return documents + Math.floor((maps * counts.size + documents) / mostIncrements);
}

/** The counts of an invoice by unique names, each with the id of its document. */
export function countsOf(invoice: Countable): ReadonlyMap<string, string> {
  const { standing, days } = invoiceCountsOf(invoice);
  const all = [
    [standingId, standing] as const,
    ...[...days].map(([day, counts]) => [dayId(day), counts] as const),
  ];
  return new Map(all.flatMap(([id, counts]) => [...counts.keys()].map((name) => [`${id} ${name}`, id])));
}

/** Splits invoices into transactions, with room for the patches of their counters. `maps` as for `counterOperations`. Pure. */
export function transactionsOf<T extends { readonly invoice: Invoice }>(
  all: readonly T[],
  { maps, most = maxOperations }: { maps: 1 | 2; most?: number },
): T[][] {
  const transactions: T[][] = [];
  let counts: ReadonlyMap<string, string> = new Map();
  for (const one of all) {
    const own = countsOf(one.invoice);
    const together = new Map([...counts, ...own]);
    const current = transactions.at(-1);
    const isRoom =
      current !== undefined &&
      current.length < most &&
      current.length + 1 + counterOperations(together, maps) <= maxOperations;
    if (isRoom) current.push(one);
    else transactions.push([one]);
    counts = isRoom ? together : own;
  }
  return transactions;
}

/** Writes that count invoices of a shard as archived, or as the database's again. `now`: milliseconds. @throws {StoreAway} */
export async function countersOfArchiving(
  documents: DocumentStore,
  { shard, now }: { shard: string; now: number },
) {
  const standing = await standingOf(documents, shard, now);
  return {
    operations: (changes: readonly Change[]) => counterPatches(standing, changes),
    async onRefused(operations: readonly Operation[], codes: readonly number[]) {
      if (codes.includes(refusedBecause.missing)) await createDays(documents, shard, operations);
    },
  };
}
