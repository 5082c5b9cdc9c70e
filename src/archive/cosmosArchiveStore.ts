import type { Container, FeedOptions, SqlQuerySpec } from '@azure/cosmos';
import { fromCosmos, queryAll } from '@payonce/jobs/documents/cosmos';
import type { ArchiveStore, StoredInvoice } from './archiveFile.ts';

/**
 * The archive's questions to the Cosmos container `invoices`. Cosmos keeps `_ts`, the second of the last write, in its index
 * whatever the policy says (https://learn.microsoft.com/azure/cosmos-db/index-policy).
 */
export function cosmosArchiveStore(container: Container): ArchiveStore {
  return {
    settled: ({ shard, before, pageSize }) =>
      pagesOf<StoredInvoice>(
        {
          query: `SELECT * FROM c WHERE c.type = 'invoice' AND c.status IN ('paid', 'declined', 'voided')
            AND c._ts < @before ORDER BY c._ts`,
          parameters: [{ name: '@before', value: Math.floor(Date.parse(before) / 1000) }],
        },
        { partitionKey: shard, maxItemCount: pageSize },
      ),
    undelivered: (shard) =>
      pagesOf(
        {
          query: `SELECT VALUE c.body FROM c WHERE c.type = 'outboxMessage' AND c.status IN ('pending', 'parked')`,
        },
        { partitionKey: shard, maxItemCount: 100 },
      ),
    archivedOf: (customerId) =>
      queryAll(container, {
        query: `SELECT * FROM c WHERE c.type = 'tombstone' AND c.customerId = @customer`,
        parameters: [{ name: '@customer', value: customerId }],
      }),
  };

  async function* pagesOf<T>(query: SqlQuerySpec, options: FeedOptions): AsyncGenerator<readonly T[]> {
    const pages = container.items.query<T>(query, options);
    while (pages.hasMoreResults()) {
      const { resources } = await fromCosmos(() => pages.fetchNext());
      if (resources !== undefined && resources.length > 0) yield resources;
    }
  }
}
