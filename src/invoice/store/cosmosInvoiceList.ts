import type { Container, SqlParameter } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll, whereAll } from '../../documents/cosmosQueries.ts';
import type { InvoiceFilter } from './invoiceFilter.ts';

/**
 * If no more than this have a due date in the range, they are looked up by it. If more do, the order of the ids meets them
 * soon enough. Either way most of the shard is not read.
 */
const fewMatches = 1000;

const textsSchema = z.array(z.string());

/**
 * Invoices of one shard in the order of their ids. Cosmos keeps `id` in its index whatever the policy says
 * (https://learn.microsoft.com/azure/cosmos-db/index-policy). @throws {StoreAway}
 */
export async function listShard(
  container: Container,
  filter: InvoiceFilter,
  { shard, behind, limit }: { shard: string; behind?: string; limit: number },
): Promise<unknown[]> {
  const { customer, currency, status, dueAfter, dueBefore, undecided } = filter;
  const { where, parameters } = whereAll('invoice', [
    { condition: 'c.customerId = @customer', name: '@customer', value: customer },
    { condition: 'c.currency = @currency', name: '@currency', value: currency },
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.dueAt >= @dueAfter', name: '@dueAfter', value: dueAfter },
    { condition: 'c.dueAt < @dueBefore', name: '@dueBefore', value: dueBefore },
    { condition: 'c.checkAt > @never', name: '@never', value: undecided && '' },
    { condition: 'c.id > @behind', name: '@behind', value: behind },
  ]);
  if (dueAfter === undefined && dueBefore === undefined) return inOrder(where);
  const query = `SELECT TOP ${fewMatches} VALUE c.id FROM c WHERE ${where}`;
  const found = textsSchema.parse(await queryAll(container, { query, parameters }, shard));
  if (found.length === fewMatches) return inOrder(where);
  const first = found.toSorted(byCodePoints).slice(0, limit);
  if (first.length === 0) return [];
  const ids = first.map((value, index) => ({ name: `@id${index}`, value }));
  return inOrder(`${where} AND c.id IN (${ids.map(({ name }) => name).join(', ')})`, ids);

  function inOrder(condition: string, more: SqlParameter[] = []): Promise<unknown[]> {
    const inOrderOfId = `SELECT * FROM c WHERE ${condition} ORDER BY c.id OFFSET 0 LIMIT ${limit}`;
    return queryAll(container, { query: inOrderOfId, parameters: [...parameters, ...more] }, shard);
  }
}

/** UTF-8 sorts as the service does. */
function byCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
