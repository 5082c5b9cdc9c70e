import { dayId, standingId } from '../../src/invoice/counters/counters.ts';
import type { CounterReads } from '../../src/invoice/counters/invoiceCounters.ts';
import { isInvoice } from '../../src/invoice/invoice.ts';
import { type MemoryDocuments, type StoredDocument, textIn } from './memoryDocuments.ts';

/** Implements `CounterReads` on a store in memory. */
export function memoryCounterReads(documents: MemoryDocuments): CounterReads {
  return {
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
    async *all(shard) {
      yield await documents.query(isInvoice, shard);
    },
  };
}

function isDue({ actionableAt }: StoredDocument, now: string): boolean {
  return typeof actionableAt === 'string' && actionableAt <= now;
}
