import { markOf } from '../../src/invoice/figures/contribution.ts';
import { dayId, standingId } from '../../src/invoice/figures/figureDocument.ts';
import type { FigureReads } from '../../src/invoice/figures/figureReads.ts';
import { type Invoice, isInvoice } from '../../src/invoice/invoice.ts';
import { type Reversals, reversalsSchema } from '../../src/invoice/reversals.ts';
import type { ReversedFigure } from '../../src/invoice/store/invoiceStore.ts';
import { type MemoryDocuments, type StoredDocument, textIn } from './memoryDocuments.ts';

/** What the figures ask of a store in memory. */
export function memoryFigureReads(documents: MemoryDocuments): FigureReads {
  return {
    hasInvoices: async (shard) => (await documents.query(isInvoice, shard)).length > 0,
    standing: () => documents.query(({ id }) => id === standingId),
    days: ({ from = '0000-01-01', to = '9999-12-31', shard }) =>
      documents.query(({ id }) => id >= dayId(from) && id <= dayId(to), shard),
    async pending({ shards, from = '', before }) {
      const found = await documents.query((one) => {
        const at = textIn(one, 'actionableAt');
        return (
          isInvoice(one) &&
          one.status === 'pending' &&
          shards.includes(one.shard) &&
          at >= from &&
          at < before
        );
      });
      return found.length;
    },
    async staleClaims(now) {
      const found = await documents.query(
        (one) => isInvoice(one) && one.status === 'claimed' && isDue(one, now),
      );
      return found.length;
    },
    async waitingSince(now) {
      const due = await documents.query((one) => isInvoice(one) && isDue(one, now));
      return due.map((one) => textIn(one, 'actionableAt')).toSorted()[0];
    },
    async count(shards) {
      const invoices = await documents.query((one) => isInvoice(one) && shards.includes(one.shard));
      const byStatus = Map.groupBy(invoices, (invoice) => textIn(invoice, 'status'));
      return {
        byStatus: new Map([...byStatus].map(([status, of]) => [status, of.length])),
        charges: invoices.filter(({ payment }) => (payment as Partial<Invoice['payment']> | undefined)?.id)
          .length,
        refunded: byCurrency(invoices, ({ refundedMinor }) => (refundedMinor > 0 ? [refundedMinor] : [])),
        openDisputes: byCurrency(invoices, ({ disputes }) =>
          disputes.filter(({ status }) => status === 'open').map(({ amountMinor }) => amountMinor),
        ),
      };
    },
    async miscounted(since) {
      const found = await documents.query(
        (one) =>
          isInvoice(one) &&
          Number(one._ts ?? 0) >= since &&
          one.counted !== markOf(one as unknown as Invoice),
      );
      return [...new Set(found.map(({ shard }) => shard))];
    },
    async *all(shard) {
      yield await documents.query(isInvoice, shard);
    },
  };
}

function isDue({ actionableAt }: StoredDocument, now: string): boolean {
  return typeof actionableAt === 'string' && actionableAt <= now;
}

/** Counts and adds up amounts of the invoices that have reversals. */
function byCurrency(
  invoices: readonly StoredDocument[],
  amountsOf: (reversals: Reversals) => readonly number[],
): ReversedFigure[] {
  const amounts = invoices.flatMap((invoice) => {
    const reversals = reversalsSchema.safeParse(invoice.reversals).data;
    const currency = textIn(invoice, 'currency');
    return reversals === undefined ? [] : amountsOf(reversals).map((minor) => ({ currency, minor }));
  });
  return [...Map.groupBy(amounts, ({ currency }) => currency)]
    .map(([currency, of]) => ({
      currency,
      count: of.length,
      amountMinor: of.reduce((sum, { minor }) => sum + minor, 0),
    }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
