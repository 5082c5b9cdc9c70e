import { maxOperations, readableDocuments } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import { timeBudget } from '@payonce/jobs/stopping';
import { type Lease, LeaseLost } from '@payonce/leases';
import { errorText } from '@payonce/leases/error-text';
import { type Invoice, invoiceSchema } from '../invoice/invoice.ts';
import { shardNames } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import type { ArchiveStore, Candidate, StoredInvoice } from './archiveFile.ts';
import {
  type ArchiveParts,
  archiveInvoices,
  counterOperations,
  countsOf,
  recentCopies,
} from './moveInvoices.ts';

const pageSize = 80;
/** Between two pages, in milliseconds, or as long as the last page took: payments need the database more. */
const leastRestMs = 100;
const dayMs = 86_400_000;

export interface ArchiveRun {
  /** Invoices that were copied to a file: a later run moves them. */
  copied: number;
  moved: number;
  /** Settled invoices that stay: a refund or dispute is not decided. */
  kept: number;
  changed: number;
  complete: boolean;
}

export interface ArchiveRunParts extends Omit<ArchiveParts, 'clock'> {
  store: ArchiveStore;
  invoices: Pick<InvoiceStore, 'counts'>;
  shards: number;
  keepDays: number;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

interface Source {
  shard: string;
  pages: AsyncIterator<readonly StoredInvoice[]>;
  /** Copies in the files of the last hours, once they have been read. */
  copies?: ReadonlyMap<string, string>;
  /** Last change of the newest invoice that was looked at (ISO 8601). */
  reached?: string;
}

/**
 * Moves settled invoices whose last change is older than `keepDays` to the archive, a page of each shard in turn, until nothing is
 * left or time is up: one run copies them to files, a later one removes what these files have from the database.
 *
 * @throws {LeaseLost}, and an error that names the shards that were left out: the platform counts failed executions by that
 */
export async function archiveSettled(
  parts: ArchiveRunParts,
  lease: Pick<Lease, 'assertHeld'>,
  stopping: AbortSignal,
): Promise<ArchiveRun> {
  const { clock, telemetry } = parts.instance;
  using budget = timeBudget(clock, stopping);
  try {
    return await goThroughShards(parts, lease, budget.signal);
  } catch (error) {
    telemetry.count(metric.archiveFailed);
    throw error;
  }
}

async function goThroughShards(
  { store, invoices, shards, keepDays, instance, ...parts }: ArchiveRunParts,
  lease: Pick<Lease, 'assertHeld'>,
  signal: AbortSignal,
): Promise<ArchiveRun> {
  const { clock, telemetry } = instance;
  const before = new Date(clock.now() - keepDays * dayMs).toISOString();
  const run = { copied: 0, moved: 0, kept: 0, changed: 0 };
  const failed = new Map<string, string>();
  const open = shardNames(shards).map((shard): Source => {
    const pages = store.settled({ shard, before, pageSize });
    return { shard, pages: pages[Symbol.asyncIterator]() };
  });
  const left = new Set(open);
  for (let source = open.shift(); source !== undefined && !signal.aborted; source = open.shift()) {
    const began = clock.monotonic();
    lease.assertHeld();
    try {
      if (await nextPage(source)) {
        open.push(source);
        const restMs = Math.max(leastRestMs, clock.monotonic() - began);
        await clock.sleep(restMs, signal).catch(() => {});
      } else left.delete(source);
    } catch (error) {
      if (error instanceof LeaseLost) throw error;
      failed.set(source.shard, errorText(error));
    }
  }
  telemetry.record(metric.archiveBehindMs, behindMs());
  const { archived } = await invoices.counts(new Date(clock.now()).toISOString());
  telemetry.record(metric.archiveInvoices, archived);
  if (failed.size > 0) {
    throw new Error(
      `left out of the archive: ${[...failed].map(([shard, why]) => `shard ${shard}: ${why}`).join('; ')}`,
    );
  }
  return { ...run, complete: left.size === 0 };

  async function nextPage(source: Source): Promise<boolean> {
    const { shard, pages } = source;
    const page = await pages.next();
    if (page.done === true) return false;
    const found = page.value.flatMap((document): Candidate[] =>
      readableDocuments([document], invoiceSchema, 'invoice').map((invoice) => ({ document, invoice })),
    );
    const old = found.filter(({ invoice }) => whyKept(invoice, before) === undefined);
    run.kept += page.value.length - old.length;
    source.copies ??= await recentCopies({ ...parts, clock }, shard);
    const { moved, changed, copied } = await archiveInvoices({ ...parts, clock }, shard, old, {
      copies: source.copies,
      assertHeld: () => lease.assertHeld(),
    });
    run.copied += copied;
    run.moved += moved;
    run.changed += changed;
    if (moved > 0) telemetry.count(metric.archiveMoved, {}, moved);
    const last = found.at(-1);
    if (last !== undefined) source.reached = lastChange(last.invoice);
    return true;
  }

  /** Calculates how much longer than `keepDays` the database has kept what is left, as far as it was looked at (ms). */
  function behindMs(): number {
    const reached = [...left].flatMap((source) => source.reached ?? []);
    return Math.max(0, ...reached.map((at) => Date.parse(before) - Date.parse(at)));
  }
}

/** The reason for which an invoice stays in the database. `tooManyDays`: more days than one transaction could count. */
export type Kept = 'open' | 'recent' | 'refundPending' | 'disputeOpen' | 'tooManyDays';

/** Decides if an invoice stays; undefined if it is settled and its last change was before `before` (ISO 8601, UTC). Pure. */
export function whyKept(invoice: Invoice, before: string): Kept | undefined {
  if (!isSettled(invoice)) return 'open';
  if (lastChange(invoice) >= before) return 'recent';
  const { refunds = [], disputes = [] } = invoice.reversals ?? {};
  if (refunds.some(({ status }) => status === 'requested' || status === 'pending')) return 'refundPending';
  if (disputes.some(({ status }) => status === 'open')) return 'disputeOpen';
  return 1 + counterOperations(countsOf(invoice), 2) <= maxOperations ? undefined : 'tooManyDays';
}

function isSettled({ status, claim, actionableAt, checkAt, payment }: Invoice): boolean {
  const waits = claim !== undefined || actionableAt !== undefined || checkAt !== undefined;
  if (waits || payment.unknownSince !== undefined || payment.inProgress !== undefined) return false;
  return status === 'paid' || status === 'declined' || status === 'voided';
}

/** When an invoice was last changed: ISO 8601. Each change adds to the timeline. Pure. */
export function lastChange({ createdAt, timeline }: Pick<Invoice, 'createdAt' | 'timeline'>): string {
  const times = [createdAt, ...timeline.map(({ at }) => at)];
  return times.toSorted().at(-1) ?? createdAt;
}
