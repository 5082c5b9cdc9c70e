import type { Container } from '@azure/cosmos';
import { type OnUnreadable, readableDocument, readableDocuments } from '@payonce/jobs/documents';
import {
  cosmosDocuments,
  type ListByTime,
  pageByTime,
  queryAll,
  queryCount,
  queryOldest,
  readDocument,
} from '@payonce/jobs/documents/cosmos';
import type { Clock } from '@payonce/leases/clock';
import { z } from 'zod';
import { counterKeeper } from '../counters/counters.ts';
import { invoiceCounters } from '../counters/invoiceCounters.ts';
import { invoiceSchema, isInvoice } from '../invoice.ts';
import { shardOf } from '../shard.ts';
import { cosmosDueInvoices } from './cosmosDueInvoices.ts';
import { cosmosCounterReads, cosmosOverdue, listShard, pageByShard, whereOf } from './cosmosInvoiceReads.ts';
import { cosmosSearch, cosmosTotals } from './cosmosSearch.ts';
import type { InvoiceStore } from './invoiceStore.ts';
import { addInvoices, invoiceWrites } from './invoiceWrites.ts';

const reasonsSchema = z.array(z.object({ name: z.string().default('no reason given'), n: z.number() }));

/** Invoices in the Cosmos container `invoices`, whose partition key is the shard. */
export function cosmosInvoiceStore(
  container: Container,
  { clock, shards, onUnreadable }: { clock: Clock; shards: number; onUnreadable?: OnUnreadable },
): InvoiceStore {
  const documents = cosmosDocuments(container);
  const iso = () => new Date(clock.now()).toISOString();
  const reads = cosmosCounterReads(container);
  const counters = counterKeeper({ documents, clock });
  const parts = { documents, clock, shards, counters };
  const kept = invoiceCounters({ ...parts, reads, onUnreadable });

  return {
    ...invoiceWrites(parts),
    ...kept,
    add: addInvoices(parts),
    ...cosmosDueInvoices(container, onUnreadable),

    async find(id) {
      const document = await readDocument(container, shardOf(id, shards), id);
      return isInvoice(document) ? readableDocument(document, invoiceSchema, 'invoice') : undefined;
    },

    async list({ pageSize, continuation, ...filter }) {
      const page = { shards, pageSize, ...(continuation === undefined ? {} : { continuation }) };
      const { items, ...rest } = await pageByShard(page, (query) =>
        listShard(container, filter, { ...query, now: iso() }),
      );
      return { items: readableDocuments(items, invoiceSchema, 'invoice'), ...rest };
    },

    async listByDue({ order, dueAfter, dueBefore, ...page }) {
      const range = {
        ...(dueAfter === undefined ? {} : { dueAfter }),
        ...(dueBefore === undefined ? {} : { dueBefore }),
      };
      const list: ListByTime = { ...whereOf(range, iso()), by: 'dueAt', order };
      const { items, ...rest } = await pageByTime(container, list, page);
      return { items: readableDocuments(items, invoiceSchema, 'invoice'), ...rest };
    },

    totals: (filter, most) => cosmosTotals(container, filter, { most, now: iso() }),

    search: (text) => cosmosSearch(container, text),

    overdue: (now) => cosmosOverdue(container, now, (at) => kept.backlog(at)),

    parkedCount: () =>
      queryCount(container, `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'invoice' AND c.status = 'parked'`),

    async parkedByReason() {
      const query = `SELECT c.reason AS name, COUNT(1) AS n FROM c
        WHERE c.type = 'invoice' AND c.status = 'parked' GROUP BY c.reason`;
      const found = reasonsSchema.parse(await queryAll(container, query));
      return new Map(found.map(({ name, n }) => [name, n]));
    },

    async toCheck({ now, limit }) {
      const found = await queryAll(container, {
        query: `SELECT * FROM c WHERE c.checkAt <= @now ORDER BY c.checkAt OFFSET 0 LIMIT @limit`,
        parameters: [
          { name: '@now', value: now },
          { name: '@limit', value: limit },
        ],
      });
      return readableDocuments(found, invoiceSchema, 'invoice', onUnreadable);
    },

    inProgressSince: () =>
      queryOldest(
        container,
        `SELECT VALUE MIN(c.payment.inProgress.since) FROM c WHERE c.payment.inProgress.since > ''`,
      ),

    unknownSince: () =>
      queryOldest(
        container,
        `SELECT VALUE MIN(c.payment.unknownSince) FROM c WHERE c.payment.unknownSince > ''`,
      ),
  };
}
