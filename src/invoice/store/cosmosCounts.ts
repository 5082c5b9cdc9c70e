import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll, queryCount } from '../../documents/cosmosQueries.ts';
import type { InvoiceFigures, ReversedFigure } from './invoiceStore.ts';

const statusesSchema = z.array(z.object({ status: z.string(), n: z.number() }));
const reversedSchema = z.array(z.object({ currency: z.string(), n: z.number(), minor: z.number() }));

/** The figures of some shards, counted: for shards whose figures nobody keeps yet. @throws {StoreAway} */
export async function cosmosCounts(
  container: Container,
  shards: readonly string[],
): Promise<Omit<InvoiceFigures, 'staleClaims'>> {
  const parameters = [{ name: '@shards', value: [...shards] }];
  const there = 'ARRAY_CONTAINS(@shards, c.shard)';
  const [statuses, charges, refunded, openDisputes] = await Promise.all([
    queryAll(container, {
      query: `SELECT c.status, COUNT(1) AS n FROM c WHERE c.type = 'invoice' AND ${there} GROUP BY c.status`,
      parameters,
    }),
    queryCount(container, {
      query: `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'invoice' AND IS_DEFINED(c.payment.id) AND ${there}`,
      parameters,
    }),
    reversed(`SELECT c.currency, COUNT(1) AS n, SUM(c.reversals.refundedMinor) AS minor FROM c
      WHERE IS_DEFINED(c.reversals.latestAt) AND c.reversals.refundedMinor > 0 AND ${there} GROUP BY c.currency`),
    reversed(`SELECT c.currency, COUNT(1) AS n, SUM(d.amountMinor) AS minor FROM c JOIN d IN c.reversals.disputes
      WHERE IS_DEFINED(c.reversals.latestAt) AND d.status = 'open' AND ${there} GROUP BY c.currency`),
  ]);
  const byStatus = new Map(statusesSchema.parse(statuses).map(({ status, n }) => [status, n]));
  return { byStatus, charges, refunded, openDisputes };

  async function reversed(query: string): Promise<ReversedFigure[]> {
    return reversedSchema
      .parse(await queryAll(container, { query, parameters }))
      .map(({ currency, n, minor }) => ({ currency, count: n, amountMinor: minor }));
  }
}
