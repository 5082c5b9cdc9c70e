import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll } from '../../documents/cosmosQueries.ts';
import type { InvoiceCounts } from './invoiceCounts.ts';

const tallySchema = z.array(z.object({ name: z.string().default('no reason given'), n: z.number() }));

/** The tallies of the invoices in a Cosmos container, each an aggregate over fields of the index. */
export function cosmosInvoiceCounts(container: Container): InvoiceCounts {
  return {
    parkedByReason: () =>
      tally(`SELECT c.reason AS name, COUNT(1) AS n FROM c
        WHERE c.type = 'invoice' AND c.status = 'parked' GROUP BY c.reason`),
    paidByHour: ({ from, to }) =>
      tally(
        `SELECT SUBSTRING(c.payment.paidAt, 0, 13) AS name, COUNT(1) AS n FROM c
          WHERE c.payment.paidAt >= @from AND c.payment.paidAt < @to GROUP BY SUBSTRING(c.payment.paidAt, 0, 13)`,
        { '@from': from, '@to': to },
      ),
  };

  async function tally(query: string, parameters: Record<string, string> = {}): Promise<Map<string, number>> {
    const given = Object.entries(parameters).map(([name, value]) => ({ name, value }));
    const found = tallySchema.parse(await queryAll(container, { query, parameters: given }));
    return new Map(found.map(({ name, n }) => [name, n]));
  }
}
