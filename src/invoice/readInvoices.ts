import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { type OnUnreadable, readable } from '../documents/readable.ts';
import { readItem } from '../documents/readItem.ts';
import { type Invoice, invoiceSchema } from './invoice.ts';

/**
 * Reads the invoices of one shard that have these ids, in one query. Ids that are not there, or whose document cannot be
 * read, are not in the answer.
 */
export async function readInvoices(
  container: Container,
  shard: string,
  ids: readonly string[],
): Promise<Invoice[]> {
  const names = ids.map((_, index) => `@id${index}`);
  const query: SqlQuerySpec = {
    query: `SELECT * FROM c WHERE c.id IN (${names.join(', ')}) AND c.type = 'invoice'`,
    parameters: ids.map((id, index) => ({ name: `@id${index}`, value: id })),
  };
  const { resources } = await container.items.query(query, { partitionKey: shard }).fetchAll();
  return readable(resources, invoiceSchema, 'invoice');
}

/** Reads one invoice; undefined where there is none, or where the id is that of something else. */
export async function readInvoice(
  container: Container,
  shard: string,
  id: string,
): Promise<Invoice | undefined> {
  const document = await readItem(container, shard, id);
  return isInvoice(document) ? invoiceSchema.parse(document) : undefined;
}

/** Outbox messages and fences stand beside the invoices. */
function isInvoice(document: unknown): boolean {
  return invoiceSchema.pick({ type: true }).safeParse(document).success;
}

/**
 * The invoices of one shard on which there is something to do at `now` (ISO 8601, UTC), the longest waiting first, a
 * page at a time: pending and due, or claimed and stale. One indexed field answers that: invoices that are settled
 * have no `actionableAt`. One that cannot be read is passed by.
 */
export async function* actionableInvoices(
  container: Container,
  {
    shard,
    now,
    pageSize,
    onUnreadable,
  }: { shard: string; now: string; pageSize: number; onUnreadable?: OnUnreadable },
): AsyncGenerator<Invoice[]> {
  const pages = container.items.query(
    {
      query: 'SELECT * FROM c WHERE c.actionableAt <= @now ORDER BY c.actionableAt',
      parameters: [{ name: '@now', value: now }],
    },
    { partitionKey: shard, maxItemCount: pageSize },
  );
  while (pages.hasMoreResults()) {
    const { resources } = await pages.fetchNext();
    const invoices = readable(resources ?? [], invoiceSchema, 'invoice', onUnreadable);
    if (invoices.length > 0) yield invoices;
  }
}
