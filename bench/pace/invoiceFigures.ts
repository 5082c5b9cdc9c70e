import type { Container } from '@azure/cosmos';
import { z } from 'zod';

const invoiceSchema = z.object({
  status: z.string(),
  timeline: z.array(z.object({ what: z.string() })),
});
type TimelineInvoice = z.infer<typeof invoiceSchema>;

export interface InvoiceFigures {
  paid: number;
  /** Invoices that were claimed more than once. */
  claimedAgain: number;
  /** Claims of an invoice after its first, of all invoices together. */
  repeatedClaims: number;
  /** Invoices that waited for another try. */
  retried: number;
}

/** Counts what happened to invoices, from their timelines. Pure. */
export function figuresOf(invoices: readonly TimelineInvoice[]): InvoiceFigures {
  const figures: InvoiceFigures = { paid: 0, claimedAgain: 0, repeatedClaims: 0, retried: 0 };
  for (const { status, timeline } of invoices) {
    const claims = timeline.filter(({ what }) => what === 'claimed' || what === 'reclaimed').length;
    if (status === 'paid') figures.paid++;
    if (claims > 1) figures.claimedAgain++;
    figures.repeatedClaims += Math.max(0, claims - 1);
    if (timeline.some(({ what }) => what.startsWith('retry: '))) figures.retried++;
  }
  return figures;
}

/**
 * Claims that each paid invoice took. A repeated claim counts even if its invoice is not paid yet: otherwise an app
 * that claims invoices in vain would look good. NaN if none is paid. Pure.
 */
export function claimsPerPaid({ paid, repeatedClaims }: InvoiceFigures): number {
  return paid === 0 ? Number.NaN : (paid + repeatedClaims) / paid;
}

/** Reads all invoices and counts. */
export async function readInvoiceFigures(container: Container): Promise<InvoiceFigures> {
  const pages = container.items.query<unknown>(
    `SELECT c.status, c.timeline FROM c WHERE c.type = 'invoice'`,
    { maxItemCount: 1_000 },
  );
  const { resources } = await pages.fetchAll();
  return figuresOf(z.array(invoiceSchema).parse(resources));
}
