import { systemClock } from '../../packages/leases/src/clock.ts';
import type { Rejection } from '../../src/importing/checkInvoice.ts';
import { csvRows } from '../../src/importing/csvRows.ts';
import { importInvoices, importLog } from '../../src/importing/importInvoices.ts';
import { jsonRows } from '../../src/importing/jsonRows.ts';
import {
  type ImportLimits,
  importLimits,
  mediaTypeOf,
  type Row,
  readRows,
} from '../../src/importing/readRows.ts';
import type { InvoiceContent } from '../../src/invoice/invoice.ts';
import type { AddOutcome, InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import type { Problem } from '../../src/platform/problem.ts';

/** A valid row; `index` counts the rows of a body. */
export interface GoodRow {
  index: number;
  invoice: InvoiceContent;
}

export interface ReadBody {
  rows: GoodRow[];
  duplicates: number;
  rejected: Rejection[];
  /** Why reading stopped early. */
  problem?: Problem;
}

/** Reads a body by way of the import itself; its store takes every invoice at the end. */
export async function readBody(
  body: Uint8Array | string,
  type: string,
  limits: ImportLimits = importLimits,
): Promise<ReadBody> {
  const reader = mediaTypeOf(type) === 'text/csv' ? csvRows : jsonRows;
  const places = new Map<InvoiceContent, number>();
  let problem: Problem | undefined;
  async function* rows(): AsyncGenerator<readonly Row[]> {
    const turns = { next: () => Promise.resolve() };
    const stopped = (why: Problem) => void (problem = why);
    for await (const some of readRows(Buffer.from(body), reader, { limits, turns, stopped })) {
      for (const row of some) if (row.kind === 'invoice') places.set(row.invoice, row.index);
      yield some;
    }
  }
  const good: GoodRow[] = [];
  const rejected: Rejection[] = [];
  const log = logInto(rejected);
  await importInvoices(
    {
      async add(contents, { settled }) {
        const all: InvoiceContent[] = [];
        for await (const some of contents) all.push(...some);
        for (const invoice of all) {
          good.push({ index: places.get(invoice) ?? -1, invoice });
          settled(invoice, 'created');
        }
        return {};
      },
    },
    rows(),
    { by: 'test', log },
  );
  await log.end('completed');
  return {
    rows: good,
    duplicates: log.counts.duplicates,
    rejected,
    ...(problem === undefined ? {} : { problem }),
  };
}

function logInto(rejected: Rejection[]) {
  return importLog({ importId: '', write: async (_, some) => void rejected.push(...some) }, systemClock);
}

/** Imports valid rows, and gathers what became of them. */
export async function importRows(
  invoices: Pick<InvoiceStore, 'add'>,
  rows: readonly GoodRow[],
  by: string,
): Promise<{ created: number; duplicates: number; rejected: Rejection[]; failure?: unknown }> {
  const rejected: Rejection[] = [];
  const log = logInto(rejected);
  const given = [rows.map((row) => ({ kind: 'invoice' as const, ...row }))];
  const result = await importInvoices(invoices, given, { by, log });
  await log.end('completed');
  const { created, duplicates } = log.counts;
  return { created, duplicates, rejected: rejected.toSorted((a, b) => a.index - b.index), ...result };
}

/** Adds invoices to a store, and gathers their outcomes by id. */
export async function addAll(
  invoices: Pick<InvoiceStore, 'add'>,
  contents: readonly InvoiceContent[],
  options: { by: string; withinMs: number },
): Promise<{ outcomes: Map<string, AddOutcome>; failure?: unknown }> {
  const outcomes = new Map<string, AddOutcome>();
  const added = await invoices.add([contents], {
    ...options,
    settled: ({ id }, outcome) => void outcomes.set(id, outcome),
  });
  return { outcomes, ...added };
}
