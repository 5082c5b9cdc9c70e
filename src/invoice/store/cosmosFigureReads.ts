import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import { fromCosmos } from '../../documents/cosmosDocuments.ts';
import { queryAll, queryCount } from '../../documents/cosmosQueries.ts';
import { dayId, standingId } from '../figures/figureDocument.ts';
import type { FigureReads } from '../figures/figureReads.ts';

/** Invoices that a page of a recount holds at most. */
const pageSize = 1000;

const textsSchema = z.array(z.string());

/** Fields that the figures depend on. */
const countedFields = `c.id, c.version, c.currency, c.amountMinor, c.status, c.actionableAt, c.payment, c.declinedAt,
  c.reversals`;

/** See `FigureReads`. Each query but that of `all` uses an index, and finds little. */
export function cosmosFigureReads(container: Container): FigureReads {
  return {
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

    async *all(shard) {
      const pages = container.items.query<unknown>(
        `SELECT ${countedFields} FROM c WHERE c.type = 'invoice'`,
        { partitionKey: shard, maxItemCount: pageSize },
      );
      while (pages.hasMoreResults()) yield (await fromCosmos(() => pages.fetchNext())).resources ?? [];
    },
  };
}

function spec(query: string, parameters: Readonly<Record<string, SqlParameter['value']>>): SqlQuerySpec {
  return { query, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) };
}
