import type { Clock } from '@payonce/leases/clock';
import type { InvoiceContent } from '../invoice/invoice.ts';
import type { AddOutcome, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { sameContent } from '../invoice/tombstone.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportProgress, ImportRecord } from './importRecords.ts';
import type { Row } from './readRows.ts';

/** Time for storing the rows of one import (ms). Azure ends a request after 230 s; a last try and the answer need some of it. */
export const storeMs = 180_000;

type Log = Pick<ReturnType<typeof importLog>, 'created' | 'duplicate' | 'reject' | 'keepUp'>;

/**
 * Stores new invoices while their rows are still being read; `log` hears what becomes of each row. One that is stored already, or
 * repeats another, with the same content is a duplicate; with other content it is rejected, because an invoice never changes. So is
 * one without a clear answer of the store: sent again, it counts as a duplicate if it was stored after all.
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
      const contents: InvoiceContent[] = [];
      for (const row of some) {
        if (row.kind === 'bad') {
          log.reject({ index: row.index, field: row.field, error: row.error });
          continue;
        }
        const earlier = waiting.get(row.invoice.id);
        if (earlier === undefined) {
          waiting.set(row.invoice.id, row);
          contents.push(row.invoice);
        } else if (sameContent(earlier.invoice, row.invoice)) log.duplicate();
        else log.reject(refused(row, `repeats the id of row ${earlier.index} with other content`));
      }
      yield contents;
      await log.keepUp();
    }
  }

  function settled({ id }: InvoiceContent, outcome: AddOutcome): void {
    const row = waiting.get(id);
    if (row === undefined) return;
    waiting.delete(id);
    if (outcome === 'created') log.created(row.invoice);
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

export const mostShown = 100;
/** Rejections in memory that have not been written. Each has some 700 bytes at most. */
const mostUnwritten = 400;
/** Milliseconds between two records of how far an import has come. */
const progressMs = 2_000;

/** Counts what becomes of the rows, and has it recorded as it goes. A record that cannot be written does not stop the import. */
export function importLog(record: ImportRecord, clock: Clock) {
  const sums: Record<string, number> = {};
  const counts: Omit<ImportProgress, 'status'> = { created: 0, duplicates: 0, rejected: 0, sums };
  /** The rejections of the lowest rows, sorted. */
  let shown: Rejection[] = [];
  let unwritten: Rejection[] = [];
  let writtenAt = clock.monotonic();
  let failure: unknown;

  return {
    counts,
    created({ amountMinor, currency }: Pick<InvoiceContent, 'amountMinor' | 'currency'>): void {
      counts.created++;
      sums[currency] = (sums[currency] ?? 0) + amountMinor;
    },
    duplicate: () => void counts.duplicates++,
    reject(rejection: Rejection): void {
      counts.rejected++;
      unwritten.push(rejection);
      shown.push(rejection);
      if (shown.length >= 2 * mostShown) shown = lowest();
    },
    /** The first rejections by row. */
    shown: lowest,
    async keepUp(): Promise<void> {
      const { created, duplicates, rejected } = counts;
      const isDue = clock.monotonic() - writtenAt >= progressMs && created + duplicates + rejected > 0;
      if (isDue || unwritten.length >= mostUnwritten) await write('running');
    },
    end: write,
  };

  function lowest(): Rejection[] {
    return shown.toSorted((one, other) => one.index - other.index).slice(0, mostShown);
  }

  /** Undefined if all so far is recorded, otherwise why it is not. */
  async function write(status: ImportProgress['status']): Promise<unknown> {
    const rejections = unwritten;
    unwritten = [];
    writtenAt = clock.monotonic();
    if (failure !== undefined) return failure;
    try {
      await record.write({ status, ...counts }, rejections);
    } catch (error) {
      failure = error;
    }
    return failure;
  }
}
