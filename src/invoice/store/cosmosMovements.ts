import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { fromCosmos } from '../../documents/cosmosDocuments.ts';
import { type Movement, type MovementQuery, movementsOf, type Occasion } from './movements.ts';

/** Invoices that a page of the service holds at most; the rest of a large page follows as a page of its own. */
const pageSize = 1000;

/**
 * What each occasion looks for, on indexed fields, and what of the invoice it needs. Reversals have times of their own,
 * inside a list: the latest of them is indexed, so those since `from` are read and the later ones are passed over.
 */
const occasions: Readonly<Record<Occasion, { fields: string; where: string }>> = {
  paid: { fields: 'c.payment', where: 'c.payment.paidAt >= @from AND c.payment.paidAt < @to' },
  declined: {
    fields: 'c.declinedAt',
    where: `c.status = 'declined' AND c.declinedAt >= @from AND c.declinedAt < @to`,
  },
  reversed: { fields: 'c.reversals', where: 'c.reversals.latestAt >= @from' },
};

/** See `InvoiceStore.movements`. */
export async function* cosmosMovements(
  container: Container,
  query: MovementQuery,
): AsyncGenerator<readonly Movement[]> {
  for (const occasion of ['paid', 'declined', 'reversed'] as const) {
    const pages = container.items.query<unknown>(specOf(occasion, query), { maxItemCount: pageSize });
    while (pages.hasMoreResults()) {
      const { resources } = await fromCosmos(() => pages.fetchNext());
      yield movementsOf(occasion, resources ?? [], query);
    }
  }
}

function specOf(occasion: Occasion, { from, to, currency }: MovementQuery): SqlQuerySpec {
  const { fields, where } = occasions[occasion];
  // A dispute may be in another currency than its invoice.
  const only = currency === undefined || occasion === 'reversed' ? '' : ' AND c.currency = @currency';
  return {
    query: `SELECT c.id, c.version, c.currency, c.amountMinor, ${fields} FROM c WHERE ${where}${only}`,
    parameters: [
      { name: '@from', value: from },
      { name: '@to', value: to },
      ...(only === '' ? [] : [{ name: '@currency', value: currency ?? '' }]),
    ],
  };
}
