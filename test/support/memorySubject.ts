import type { LostAnswer } from '../../packages/jobs/src/testing/documents/subject.ts';
import { type MemoryDocuments, memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { memoryOutboxStore } from '../memory/memoryOutboxStore.ts';
import type { StoreSubject, Stores } from './storeSubject.ts';

/** The stores in memory. */
export const memorySubject: StoreSubject = {
  canFail: true,
  onEmulator: false,
  async open() {
    const losing: LostAnswer[] = [];
    let failing = 0;
    let action: (() => Promise<unknown>) | undefined;
    const memory = memoryDocuments({
      fault: () => losing.shift(),
      readFault: () => (failing-- > 0 ? 'noAnswer' : undefined),
    });
    const documents: MemoryDocuments = {
      ...memory,
      async transact(partition, operations) {
        const first = action;
        action = undefined;
        await first?.();
        return memory.transact(partition, operations);
      },
    };
    return {
      ...storesOn(documents),
      async lose(answer, count = 1) {
        losing.push(...Array.from({ length: count }, () => answer));
      },
      async failReads(count = 1) {
        failing = count;
      },
      interleave(next) {
        action = next;
      },
      denied: storesOn(memoryDocuments({ fault: () => 'denied', readFault: () => 'accessDenied' })),
    };
  },
};

function storesOn(documents: MemoryDocuments): Stores {
  return {
    documents,
    invoices: (options) => memoryInvoiceStore(documents, options),
    outbox: (options) => memoryOutboxStore(documents, options),
  };
}
