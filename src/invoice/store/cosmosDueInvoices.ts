import type { Container } from '@azure/cosmos';
import { type OnUnreadable, readableDocuments } from '@payonce/jobs/documents';
import { fromCosmos, queryCount } from '@payonce/jobs/documents/cosmos';
import { invoiceSchema } from '../invoice.ts';
import type { InvoiceStore } from './invoiceStore.ts';

/** The queries of a run that claims. */
export function cosmosDueInvoices(
  container: Container,
  onUnreadable?: OnUnreadable,
): Pick<InvoiceStore, 'due' | 'openClaims'> {
  return {
    // One indexed field answers "what is there to do": settled invoices have no `actionableAt`.
    async *due({ shard, now, pageSize }) {
      const pages = container.items.query<unknown>(
        {
          query: 'SELECT * FROM c WHERE c.actionableAt <= @now ORDER BY c.actionableAt',
          parameters: [{ name: '@now', value: now }],
        },
        { partitionKey: shard, maxItemCount: pageSize },
      );
      while (pages.hasMoreResults()) {
        const { resources } = await fromCosmos(() => pages.fetchNext());
        const invoices = readableDocuments(resources ?? [], invoiceSchema, 'invoice', onUnreadable);
        if (invoices.length > 0) yield invoices;
      }
    },

    openClaims: (now) =>
      queryCount(container, {
        query: `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'claimed' AND c.actionableAt > @now`,
        parameters: [{ name: '@now', value: now }],
      }),
  };
}
