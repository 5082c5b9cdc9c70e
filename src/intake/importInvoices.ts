import type { Container, OperationInput } from '@azure/cosmos';
import pLimit from 'p-limit';
import { cosmosStatus } from '../documents/cosmosErrors.ts';
import { transact } from '../documents/transact.ts';
import { type Invoice, type InvoiceContent, newInvoice } from '../invoice/invoice.ts';
import { rereadInvoices } from '../invoice/rereadInvoices.ts';
import { sameContent } from '../invoice/sameContent.ts';
import { shardOf } from '../invoice/shard.ts';
import type { Clock } from '../platform/clock.ts';
import type { ParsedRow, Rejection } from './parseInvoices.ts';

/** Rows per transaction; a shard's rows go in several. */
const rowsPerBatch = 100;
const concurrentBatches = 8;
const maxTries = 6;
const retryDelayMs = 200;
/**
 * How long rows are stored, in milliseconds. Azure ends an HTTP request after 230 s
 * (https://learn.microsoft.com/azure/azure-functions/functions-scale#timeout), and a last try and the answer need time too.
 */
const storeMs = 180_000;

export interface ImportResult {
  created: number;
  /** Rows that are stored already, with the same content. */
  duplicates: number;
  rejected: Rejection[];
  /** Why good rows were rejected: what the store said last. Absent where none was. */
  failure?: unknown;
}

/**
 * Stores new invoices. An invoice that is stored already with the same content is a duplicate; with other content the
 * row is rejected, since an invoice never changes. A row for which the store gives no clear answer in several tries, or in
 * time, is rejected too, and said to be sent again: what was stored counts as a duplicate then.
 */
export async function importInvoices(
  { container, clock, shards }: { container: Container; clock: Clock; shards: number },
  rows: readonly ParsedRow[],
  by: string,
): Promise<ImportResult> {
  const began = clock.monotonic();
  const result: ImportResult = { created: 0, duplicates: 0, rejected: [] };
  const limit = pLimit(concurrentBatches);
  const batches = [...Map.groupBy(rows, ({ invoice }) => shardOf(invoice.id, shards))].flatMap(
    ([shard, all]) => chunks(all, rowsPerBatch).map((part) => ({ shard, part })),
  );
  await Promise.all(batches.map(({ shard, part }) => limit(() => store(shard, part))));
  result.rejected.sort((a, b) => a.index - b.index);
  return result;

  async function store(shard: string, part: readonly ParsedRow[]): Promise<void> {
    const at = new Date(clock.now()).toISOString();
    let rest = part;
    let mayBeOurs = false;
    try {
      await storeRest();
    } catch (error) {
      result.failure = error;
    }
    const why = mayBeOurs ? 'may have been stored, which is unclear' : 'has not been stored';
    for (const row of rest) reject(row, `${why}: send it again`);

    /** Takes out of `rest` what has been settled. */
    async function storeRest(): Promise<void> {
      for (let tries = 0; tries < maxTries && rest.length > 0; tries++) {
        if (clock.monotonic() - began > storeMs)
          throw new Error(`the time for storing was up after ${storeMs / 1000} s`);
        const operations = rest.map(({ invoice }) => createOperation(invoice));
        const answer = await transact(container, shard, operations);
        if (answer.kind === 'committed') {
          result.created += rest.length;
          rest = [];
          return;
        }
        if (answer.kind === 'uncertain') {
          mayBeOurs = true;
          await clock.sleep(retryDelayMs * 2 ** tries);
        }
        const stored = await rereadInvoices(
          container,
          shard,
          rest.map(({ invoice }) => invoice.id),
        );
        if (stored === undefined) continue;
        const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
        const conflicts = answer.kind === 'refused' ? answer.codes : [];
        rest = rest.filter((row, n) => {
          const found = byId.get(row.invoice.id);
          if (found !== undefined) settle(row, found, mayBeOurs ? at : undefined);
          else if (conflicts[n] === cosmosStatus.conflict) reject(row, 'is the id of something else here');
          else return true;
          return false;
        });
      }
      if (rest.length > 0) throw new Error(`shard ${shard} gave no clear answer in ${maxTries} tries`);
    }

    function createOperation(invoice: InvoiceContent): OperationInput {
      return { operationType: 'Create', resourceBody: { ...newInvoice(invoice, { shard, at, by }) } };
    }
  }

  /** Counts a row whose id is stored already. `ourTime`: when our own write, whose answer was lost, would have stored it. */
  function settle(row: ParsedRow, stored: Invoice, ourTime: string | undefined): void {
    if (!sameContent(stored, row.invoice)) reject(row, 'is stored already with other content');
    else if (stored.createdAt === ourTime) result.created++;
    else result.duplicates++;
  }

  function reject({ index, invoice }: ParsedRow, why: string): void {
    result.rejected.push({ index, field: 'id', error: `"${invoice.id}" ${why}` });
  }
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));
}
