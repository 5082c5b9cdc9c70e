import { allPages } from '@payonce/jobs/documents';
import type { RunCounts } from '@payonce/jobs/runs';
import pLimit from 'p-limit';
import type { CorrectionParts } from '../../after/corrections.ts';
import { decideRetry, dueNow, retried, waitsForRetry } from '../../after/retryInvoice.ts';
import { voidInvoice } from '../../after/voidInvoice.ts';
import type { Invoice } from '../../invoice/invoice.ts';
import type { InvoiceChange } from '../../invoice/invoiceChange.ts';
import type { InvoiceStore } from '../../invoice/store/invoiceStore.ts';
import { ofVoid, whyNotCorrected } from '../notCorrected.ts';
import { type BulkInvoiceFilter, isAskedFor, type NotChanged } from './bulkRequest.ts';

export interface InvoicePiece {
  kind: 'invoices';
  shard: string;
  ids: string[];
  /** Those of the invoices, in the order of `ids`; only in a dry run, which adds them up. */
  amounts?: readonly { amountMinor: number; currency: string }[];
}

/** In one transaction, with room for the counters of as many days (`ChangeRequest.ids`). */
const pieceSize = 45;

/** Corrections that ask the provider, side by side. */
const atOnce = 8;

/** On whose behalf invoices are changed. */
export interface OnBehalf {
  runId: string;
  actor: string;
  reason: string;
  assertHeld: () => void;
}

/**
 * The invoices that match, in the order of shard and id: what the run changes meanwhile hides none and repeats none. Those
 * that `isOpen` refuses are left out.
 */
export async function* invoicePieces(
  invoices: Pick<InvoiceStore, 'list'>,
  filter: BulkInvoiceFilter,
  { isOpen, dryRun }: { isOpen: (invoice: Invoice) => boolean; dryRun: boolean },
): AsyncGenerator<InvoicePiece> {
  // The list knows no more of the filter.
  const { reason: _, before: __, after: ___, ...listed } = filter;
  const list = { ...listed, pageSize: pieceSize };
  for await (const page of allPages((place) => invoices.list({ ...list, ...place }))) {
    const found = page.filter((invoice) => isAskedFor(invoice, filter) && isOpen(invoice));
    for (const [shard, some] of Map.groupBy(found, (invoice) => invoice.shard)) {
      const amounts = some.map(({ amountMinor, currency }) => ({ amountMinor, currency }));
      yield { kind: 'invoices', shard, ids: some.map(({ id }) => id), ...(dryRun ? { amounts } : {}) };
    }
  }
}

export function canRetry(invoice: Invoice, now: string): boolean {
  return invoice.status === 'pending' ? waitsForRetry(invoice, now) : true;
}

/**
 * Decides on a bulk retry of an invoice: each run retries it once. One that names a payment which nobody has recorded is left to a
 * retry of its own, which asks the provider first. Pure.
 */
export function decideBulkRetry(
  invoice: Invoice,
  filter: BulkInvoiceFilter,
  { runId, actor, reason, at }: Pick<OnBehalf, 'runId' | 'actor' | 'reason'> & { at: string },
):
  | { kind: 'change'; change: InvoiceChange }
  | { kind: 'refuse'; why: 'retried' | 'changed' | 'namesPayment' } {
  if (invoice.timeline.some((entry) => entry.runId === runId)) return { kind: 'refuse', why: 'retried' };
  if (!isAskedFor(invoice, filter)) return { kind: 'refuse', why: 'changed' };
  const note = { actor, reason, at, runId };
  if (waitsForRetry(invoice, at)) return { kind: 'change', change: dueNow(invoice, note) };
  const decision = decideRetry(invoice, {});
  switch (decision.kind) {
    case 'retry':
      return { kind: 'change', change: retried(invoice, decision.payment, note) };
    case 'check':
      return { kind: 'refuse', why: 'namesPayment' };
    case 'refused':
    case 'mayBeCharged':
      return { kind: 'refuse', why: 'changed' };
  }
}

/** Retries a piece in one transaction. What an earlier try of the same run has retried counts as retried. */
export async function retryPiece(
  { invoices, instance }: Pick<CorrectionParts, 'instance'> & { invoices: Pick<InvoiceStore, 'change'> },
  { shard, ids }: InvoicePiece,
  filter: BulkInvoiceFilter,
  { assertHeld, ...who }: OnBehalf,
): Promise<PieceDone> {
  const { changed, refused, missing } = await invoices.change({
    shard,
    ids,
    decide: (invoice) =>
      decideBulkRetry(invoice, filter, { ...who, at: new Date(instance.clock.now()).toISOString() }),
    beforeTry: assertHeld,
  });
  const counts: Record<string, number> = { retried: changed.length };
  for (const why of [...refused.values(), ...missing.map(() => 'changed' as const)])
    counts[countedAs[why]] = (counts[countedAs[why]] ?? 0) + 1;
  const left = [...refused].flatMap(([id, why]) =>
    why === 'retried' ? [] : [{ id, why: whyNotRetried[why] }],
  );
  return { counts, refused: [...left, ...missing.map((id) => ({ id, why: 'it is no longer there' }))] };
}

export interface PieceDone {
  counts: RunCounts;
  refused: readonly NotChanged[];
}

const countedAs = { retried: 'retried', changed: 'changedMeanwhile', namesPayment: 'namesPayment' } as const;

const whyNotRetried = {
  changed: 'it has changed meanwhile, and no longer matches',
  namesPayment:
    'it names a payment that nobody has recorded: retry it by itself, which asks the provider first',
} as const;

/**
 * Voids a piece, one by one: most have to be looked for at the provider first. What this run has voided counts, even if somebody has
 * undone it since, and what no longer matches is left alone.
 */
export async function voidPiece(
  parts: CorrectionParts,
  { ids }: InvoicePiece,
  filter: BulkInvoiceFilter,
  { runId, actor, reason, assertHeld }: OnBehalf,
): Promise<PieceDone> {
  const limit = pLimit(atOnce);
  const results = await Promise.all(
    ids.map((id) =>
      limit(async () => {
        const invoice = await parts.invoices.find(id);
        assertHeld();
        if (invoice?.timeline.some((entry) => entry.runId === runId)) return { kind: 'voided' as const };
        if (invoice !== undefined && !isAskedFor(invoice, filter)) return { kind: 'changed' as const };
        return voidInvoice(parts, id, { actor, reason, runId });
      }),
    ),
  );
  const counts: Record<string, number> = {};
  for (const { kind } of results) {
    const counted = kind === 'changed' ? countedAs[kind] : kind;
    counts[counted] = (counts[counted] ?? 0) + 1;
  }
  const refused = results.flatMap((result, index) => {
    if (result.kind === 'voided') return [];
    const why = result.kind === 'changed' ? whyNotRetried.changed : whyNotCorrected('it', result, ofVoid);
    return [{ id: ids[index] ?? '', why }];
  });
  return { counts, refused };
}
