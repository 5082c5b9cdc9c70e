import type { Invoice } from './invoice.ts';

/** True if a person's last decision about an invoice was to void it: then no payment that turns up makes it paid. Pure. */
export function wasVoided({ timeline }: Pick<Invoice, 'timeline'>): boolean {
  return timeline.findLast(({ what }) => what === 'voided' || what === 'retried')?.what === 'voided';
}
