import type { Container } from '@azure/cosmos';
import { fromCosmos } from '../../documents/cosmosDocuments.ts';
import { whereAll } from '../../documents/cosmosQueries.ts';
import type { InvoiceFilter } from './invoiceFilter.ts';

/**
 * Invoices of one shard in the order of their ids. Cosmos keeps `id` in its index whatever the policy says
 * (https://learn.microsoft.com/azure/cosmos-db/index-policy). @throws {StoreAway}
 */
export async function listShard(
  container: Container,
  filter: InvoiceFilter,
  { shard, behind, limit }: { shard: string; behind?: string; limit: number },
): Promise<unknown[]> {
  const { customer, currency, status, dueAfter, dueBefore } = filter;
  const { where, parameters } = whereAll('invoice', [
    { condition: 'c.customerId = @customer', name: '@customer', value: customer },
    { condition: 'c.currency = @currency', name: '@currency', value: currency },
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.dueAt >= @dueAfter', name: '@dueAfter', value: dueAfter },
    { condition: 'c.dueAt < @dueBefore', name: '@dueBefore', value: dueBefore },
    { condition: 'c.id > @behind', name: '@behind', value: behind },
  ]);
  const query = {
    query: `SELECT * FROM c WHERE ${where} ORDER BY c.id OFFSET 0 LIMIT @limit`,
    parameters: [...parameters, { name: '@limit', value: limit }],
  };
  const { resources } = await fromCosmos(() =>
    container.items.query<unknown>(query, { partitionKey: shard, maxItemCount: limit }).fetchAll(),
  );
  return resources;
}
