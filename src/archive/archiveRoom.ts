import { figureRoom } from '../invoice/figures/figureMoves.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { sumsIdsOf } from './archivedSums.ts';

/** How many operations of a transaction it takes to move these invoices: at most as many as this says. */
export function archiveRoom() {
  const sums = new Set<string>();
  const figures = figureRoom();
  let invoices = 0;
  return {
    /** The operations with one invoice more. */
    with(invoice: Invoice): number {
      const more = sumsIdsOf([invoice]).filter((id) => !sums.has(id));
      return invoices + 1 + sums.size + more.length + figures.with(invoice);
    },
    add(invoice: Invoice): void {
      invoices++;
      for (const id of sumsIdsOf([invoice])) sums.add(id);
      figures.add(invoice);
    },
  };
}
