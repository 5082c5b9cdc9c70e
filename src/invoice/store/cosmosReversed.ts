import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll } from '../../documents/cosmosQueries.ts';
import type { ReversedFigure } from './invoiceStore.ts';

const figuresSchema = z.array(z.object({ currency: z.string(), n: z.number(), minor: z.number() }));

/** Only invoices with a reversal are looked at: that is what the index of `latestAt` knows. @throws {StoreAway} */
export async function cosmosReversed(
  container: Container,
): Promise<{ refunded: ReversedFigure[]; openDisputes: ReversedFigure[] }> {
  const [refunded, openDisputes] = await Promise.all([
    figures(`SELECT c.currency, COUNT(1) AS n, SUM(c.reversals.refundedMinor) AS minor FROM c
      WHERE IS_DEFINED(c.reversals.latestAt) AND c.reversals.refundedMinor > 0 GROUP BY c.currency`),
    figures(`SELECT c.currency, COUNT(1) AS n, SUM(d.amountMinor) AS minor FROM c JOIN d IN c.reversals.disputes
      WHERE IS_DEFINED(c.reversals.latestAt) AND d.status = 'open' GROUP BY c.currency`),
  ]);
  return { refunded, openDisputes };

  async function figures(query: string): Promise<ReversedFigure[]> {
    return figuresSchema
      .parse(await queryAll(container, query))
      .map(({ currency, n, minor }) => ({ currency, count: n, amountMinor: minor }))
      .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
  }
}
