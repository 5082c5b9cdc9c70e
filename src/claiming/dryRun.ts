import type { RunCounts } from '@payonce/jobs/runs';
import { amountCounts } from '../invoice/amountCounts.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { decideClaim } from './claimBatch.ts';
import type { ClaimRoom } from './processInvoices.ts';

/** A dry run claims nothing, so it needs no room. */
export function unlimitedRoom(batchSize: number): ClaimRoom {
  return { batch: async () => batchSize, taken() {} };
}

const previewName = { claim: 'claimed', reclaim: 'reclaimed', park: 'parked', skip: 'notDue' } as const;

/** Counts what a run would do with these invoices at `now` (milliseconds), and the amounts that it would claim. Pure. */
export function previewClaims(invoices: readonly Invoice[], now: number): RunCounts {
  const at = new Date(now).toISOString();
  const counts: Record<string, number> = {};
  const claimed: Invoice[] = [];
  for (const invoice of invoices) {
    const { kind } = decideClaim(invoice, at);
    counts[previewName[kind]] = (counts[previewName[kind]] ?? 0) + 1;
    if (kind === 'claim' || kind === 'reclaim') claimed.push(invoice);
  }
  return { ...counts, ...amountCounts(claimed) };
}
