import type { InvoiceContent } from '../invoice/invoice.ts';
import type { AddOutcome, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { sameContent } from '../invoice/tombstone.ts';
import type { importLog } from './importLog.ts';
import type { Row } from './readRows.ts';

/**
 * Time for storing the rows of one import, in milliseconds. Azure ends an HTTP request after 230 s
 * (https://learn.microsoft.com/azure/azure-functions/functions-scale#timeout); a last try and the answer need some of it.
 */
export const storeMs = 180_000;

type Log = Pick<ReturnType<typeof importLog>, 'created' | 'duplicate' | 'reject' | 'keepUp'>;

/**
 * Stores new invoices while their rows are still being read; `log` hears what becomes of each row. A row that is stored
 * already, or repeats another, with the same content is a duplicate; with other content it is rejected, because an invoice
 * never changes. A row that the store gave no clear answer for is rejected too, and its error says to send it again: it
 * counts as a duplicate then if it was stored after all.
 *
 * @returns why good rows were rejected: the last error of the store
 */
export async function importInvoices(
  invoices: Pick<InvoiceStore, 'add'>,
  rows: AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>,
  { by, log }: { by: string; log: Log },
): Promise<{ failure?: unknown }> {
  /** Rows that are being stored, by id: they are few, and two of one id are never stored at once, so the first counts. */
  const waiting = new Map<string, Row & { kind: 'invoice' }>();

  async function* fresh(): AsyncGenerator<readonly InvoiceContent[]> {
    for await (const some of rows) {
      yield some.flatMap(taken);
      await log.keepUp();
    }
  }

  function taken(row: Row): InvoiceContent[] {
    if (row.kind === 'bad') {
      log.reject({ index: row.index, field: row.field, error: row.error });
      return [];
    }
    const earlier = waiting.get(row.invoice.id);
    if (earlier === undefined) {
      waiting.set(row.invoice.id, row);
      return [row.invoice];
    }
    if (sameContent(earlier.invoice, row.invoice)) log.duplicate();
    else log.reject(refused(row, `repeats the id of row ${earlier.index} with other content`));
    return [];
  }

  function settled({ id }: InvoiceContent, outcome: AddOutcome): void {
    const row = waiting.get(id);
    if (row === undefined) return;
    waiting.delete(id);
    if (outcome === 'created') log.created();
    else if (outcome === 'duplicate') log.duplicate();
    else log.reject(refused(row, whyRejected[outcome]));
  }

  return invoices.add(fresh(), { by, withinMs: storeMs, settled });
}

const whyRejected: Record<Exclude<AddOutcome, 'created' | 'duplicate'>, string> = {
  otherContent: 'is stored already with other content',
  idTaken: 'is the id of something else here',
  notStored: 'has not been stored: send it again',
  unclear: 'may have been stored, which is unclear: send it again',
};

function refused({ index, invoice: { id } }: Row & { kind: 'invoice' }, why: string) {
  return { index, field: 'id', error: `"${id}" ${why}` };
}
