import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Corrected, NotCorrected } from './corrections.ts';

/** How often a correction is decided anew because somebody else changed the invoice meanwhile. */
const mostTries = 5;

/**
 * Decides on an invoice until the decision holds: it is read, `attempt` decides (and may ask the provider), and what is to be written
 * is written only if nobody has changed the invoice since. `again`: it has changed, so it is read again.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function whileUnchanged<Other extends { kind: string }>(
  invoices: Pick<InvoiceStore, 'find'>,
  id: string,
  attempt: (invoice: Invoice) => Promise<Other | 'again'>,
): Promise<Other | Extract<NotCorrected, { kind: 'notFound' | 'contended' }>> {
  for (let tries = 0; tries < mostTries; tries++) {
    const invoice = await invoices.find(id);
    if (invoice === undefined) return { kind: 'notFound' };
    const result = await attempt(invoice);
    if (result !== 'again') return result;
  }
  return { kind: 'contended' };
}

/** Writes a change if the invoice is still as it was read. @throws {NoClearAnswer} */
export async function ifStillSo(
  invoices: Pick<InvoiceStore, 'update'>,
  { id, _etag, status: from }: Invoice,
  change: InvoiceChange,
): Promise<Corrected | 'again'> {
  const updated = await invoices.update<'changed'>(id, {
    decide: (stored) =>
      stored._etag === _etag ? { kind: 'change', change } : { kind: 'refuse', why: 'changed' },
  });
  return updated.kind === 'updated' ? { from, invoice: updated.invoice } : 'again';
}
