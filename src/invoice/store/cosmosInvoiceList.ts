import type { Container } from '@azure/cosmos';
import { fromCosmos } from '../../documents/cosmosDocuments.ts';
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
  const asked = [
    { condition: 'c.customerId = @customer', name: '@customer', value: customer },
    { condition: 'c.currency = @currency', name: '@currency', value: currency },
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.dueAt >= @dueAfter', name: '@dueAfter', value: dueAfter },
    { condition: 'c.dueAt < @dueBefore', name: '@dueBefore', value: dueBefore },
    { condition: 'c.id > @behind', name: '@behind', value: behind },
  ].flatMap(({ value, ...rest }) => (value === undefined ? [] : [{ ...rest, value }]));
  const where = [`c.type = 'invoice'`, ...asked.map(({ condition }) => condition)].join(' AND ');
  const query = `SELECT * FROM c WHERE ${where} ORDER BY c.id OFFSET 0 LIMIT @limit`;
  const parameters = [{ name: '@limit', value: limit }, ...asked.map(({ name, value }) => ({ name, value }))];
  const { resources } = await fromCosmos(() =>
    container.items.query<unknown>({ query, parameters }, { partitionKey: shard }).fetchAll(),
  );
  return resources;
}
