import type { AddOutcome, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { ParsedRow, Rejection } from './parseInvoices.ts';

/**
 * Time for storing the rows of one import, in milliseconds. Azure ends an HTTP request after 230 s
 * (https://learn.microsoft.com/azure/azure-functions/functions-scale#timeout); a last try and the answer need some of it.
 */
const storeMs = 180_000;

export interface ImportResult {
  created: number;
  /** Rows that are stored already, with the same content. */
  duplicates: number;
  rejected: Rejection[];
  /** Why good rows were rejected: the last error of the store. */
  failure?: unknown;
}

/**
 * Stores new invoices. A row that is stored already with the same content is a duplicate; with other content it is
 * rejected, because an invoice never changes. A row that the store gave no clear answer for is rejected too, and its error
 * says to send it again: it counts as a duplicate then if it was stored after all.
 */
export async function importInvoices(
  invoices: Pick<InvoiceStore, 'add'>,
  rows: readonly ParsedRow[],
  by: string,
): Promise<ImportResult> {
  const contents = rows.map(({ invoice }) => invoice);
  const { outcomes, ...rest } = await invoices.add(contents, { by, withinMs: storeMs });
  const result: ImportResult = { created: 0, duplicates: 0, rejected: [], ...rest };
  for (const { index, invoice } of rows) {
    const outcome = outcomes.get(invoice.id) ?? 'notStored';
    if (outcome === 'created') result.created++;
    else if (outcome === 'duplicate') result.duplicates++;
    else result.rejected.push({ index, field: 'id', error: `"${invoice.id}" ${whyRejected[outcome]}` });
  }
  return result;
}

const whyRejected: Record<Exclude<AddOutcome, 'created' | 'duplicate'>, string> = {
  otherContent: 'is stored already with other content',
  idTaken: 'is the id of something else here',
  notStored: 'has not been stored: send it again',
  unclear: 'may have been stored, which is unclear: send it again',
};
