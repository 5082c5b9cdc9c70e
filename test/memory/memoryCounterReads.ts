import { dayId, standingId } from '../../src/invoice/counters/counters.ts';
import type { CounterReads } from '../../src/invoice/counters/invoiceCounters.ts';
import { type MemoryDocuments, type StoredDocument, textIn } from './memoryDocuments.ts';

const ofInvoices = { type: 'invoice' };
const ofFigures = { type: 'figures' };

/** Implements `CounterReads` on a store in memory. */
export function memoryCounterReads(documents: MemoryDocuments): CounterReads {
  return {
    standing: () => documents.query(({ id }) => id === standingId, undefined, ofFigures),
    days: ({ from = '0000-01-01', to = '9999-12-31', shard }) =>
      documents.query(({ id }) => id >= dayId(from) && id <= dayId(to), shard, ofFigures),
    async pending({ shards, from = '', before }) {
      const found = await documents.query(
        (one) => {
          const at = textIn(one, 'actionableAt');
          return shards.includes(one.shard) && at >= from && at < before;
        },
        undefined,
        { ...ofInvoices, status: 'pending' },
      );
      return found.length;
    },
    async staleClaims(now) {
      const found = await documents.query((one) => isDue(one, now), undefined, {
        ...ofInvoices,
        status: 'claimed',
      });
      return found.length;
    },
    async waitingSince(now) {
      const due = await documents.query((one) => isDue(one, now), undefined, ofInvoices);
      return due.map((one) => textIn(one, 'actionableAt')).toSorted()[0];
    },
    async *all(shard) {
      yield await documents.query(() => true, shard, ofInvoices);
    },
  };
}

function isDue({ actionableAt }: StoredDocument, now: string): boolean {
  return typeof actionableAt === 'string' && actionableAt <= now;
}
