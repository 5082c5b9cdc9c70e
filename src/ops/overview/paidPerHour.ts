import type { InvoiceCounts } from '../../invoice/store/invoiceCounts.ts';

const hourMs = 3_600_000;
/** After this time nobody records a payment of an hour that is over, in milliseconds: clocks differ by less. */
const settledMs = 600_000;

/** Invoices paid in each of the last hours, oldest first; the last one is not over yet. */
export interface PaidInHour {
  /** When the hour begins: ISO 8601, UTC. */
  hour: string;
  count: number;
}

/** Counts the last `hours`. Those that are over are counted once and kept, so that a look later reads an hour or two. */
export function paidPerHour(invoiceCounts: Pick<InvoiceCounts, 'paidByHour'>, hours = 24) {
  const kept = new Map<string, number>();
  return async (now: number): Promise<PaidInHour[]> => {
    const last = Math.floor(now / hourMs) * hourMs;
    const begins = Array.from({ length: hours }, (_, index) => last - (hours - 1 - index) * hourMs);
    const from = begins.find((begin) => !kept.has(nameOf(begin))) ?? last;
    const counted = await invoiceCounts.paidByHour({
      from: new Date(from).toISOString(),
      to: new Date(last + hourMs).toISOString(),
    });
    for (const name of kept.keys()) if (name < nameOf(begins[0] ?? last)) kept.delete(name);
    return begins.map((begin) => {
      const name = nameOf(begin);
      const count = kept.get(name) ?? counted.get(name) ?? 0;
      if (begin + hourMs + settledMs < now) kept.set(name, count);
      return { hour: new Date(begin).toISOString(), count };
    });
  };
}

/** `2026-01-31T14` */
function nameOf(time: number): string {
  return new Date(time).toISOString().slice(0, 13);
}
