import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { fromCosmos } from '../../documents/cosmosDocuments.ts';
import { queryAll, queryCount } from '../../documents/cosmosQueries.ts';
import { dayId, standingId } from '../figures/figureDocument.ts';
import type { FigureReads } from '../figures/figureReads.ts';
import { cosmosCounts } from './cosmosCounts.ts';

/** Invoices that a page of a recount holds at most. */
const pageSize = 1000;

const textsSchema = z.array(z.string());

/** What the figures depend on, besides the timeline. */
const countedFields = `c.id, c.version, c.currency, c.amountMinor, c.status, c.actionableAt, c.payment, c.declinedAt,
  c.reversals`;

/** See `FigureReads`. Each query but those of `count` and `all` uses an index, and finds little. */
export function cosmosFigureReads(container: Container): FigureReads {
  return {
    async hasInvoices(shard) {
      const query = `SELECT TOP 1 c.id FROM c WHERE c.type = 'invoice'`;
      return (await queryAll(container, query, shard)).length > 0;
    },

    standing: () => queryAll(container, spec('SELECT * FROM c WHERE c.id = @id', { '@id': standingId })),

    days({ from = '0000-01-01', to = '9999-12-31', shard }) {
      const query = 'SELECT * FROM c WHERE c.id >= @from AND c.id <= @to';
      return queryAll(container, spec(query, { '@from': dayId(from), '@to': dayId(to) }), shard);
    },

    pending({ shards, from = '', before }) {
      const query = `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'pending' AND c.actionableAt >= @from
        AND c.actionableAt < @before AND ARRAY_CONTAINS(@shards, c.shard)`;
      return queryCount(container, spec(query, { '@from': from, '@before': before, '@shards': [...shards] }));
    },

    staleClaims: (now) =>
      queryCount(
        container,
        spec(`SELECT VALUE COUNT(1) FROM c WHERE c.status = 'claimed' AND c.actionableAt <= @now`, {
          '@now': now,
        }),
      ),

    async waitingSince(now) {
      const query =
        'SELECT TOP 1 VALUE c.actionableAt FROM c WHERE c.actionableAt <= @now ORDER BY c.actionableAt';
      return textsSchema.parse(await queryAll(container, spec(query, { '@now': now })))[0];
    },

    count: (shards) => cosmosCounts(container, shards),

    async miscounted(since) {
      const mark = `(c.status = 'pending' ? CONCAT('pending ', c.actionableAt) : c.status)`;
      const query = `SELECT DISTINCT VALUE c.shard FROM c WHERE c.type = 'invoice' AND c._ts >= @since
        AND (NOT IS_DEFINED(c.counted) OR c.counted != ${mark})`;
      return textsSchema.parse(await queryAll(container, spec(query, { '@since': since })));
    },

    async *all(shard) {
      // Only releases before 0.3 wrote the time of a decline into the timeline alone.
      const timeline = `(c.status = 'declined' AND NOT IS_DEFINED(c.declinedAt) ? c.timeline : undefined) AS timeline`;
      const pages = container.items.query<unknown>(
        `SELECT ${countedFields}, ${timeline} FROM c WHERE c.type = 'invoice'`,
        { partitionKey: shard, maxItemCount: pageSize },
      );
      while (pages.hasMoreResults()) yield (await fromCosmos(() => pages.fetchNext())).resources ?? [];
    },
  };
}

function spec(query: string, parameters: Readonly<Record<string, SqlParameter['value']>>): SqlQuerySpec {
  return { query, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) };
}
