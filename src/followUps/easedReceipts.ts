import pLimit from 'p-limit';
import type { Strained } from '../locking/index.ts';
import type { ReceiptStore } from './receipts.ts';

/** Receipts that one process writes at the same time: all that its queue trigger takes (host.json), or a few. */
const most = 64;
const few = 2;

/**
 * Receipts for which the leases do not suffer: while the store of the leases is under strain, only a few are written at a
 * time. By default they share a storage account, which a large backlog of receipts can saturate, and a receipt can wait.
 */
export function easedReceipts(receipts: ReceiptStore, strained: Strained): ReceiptStore {
  const limit = pLimit(most);
  const ease = () => {
    limit.concurrency = strained() ? few : most;
  };
  return {
    async write(name, json, signal) {
      ease();
      await limit(() => receipts.write(name, json, signal).finally(ease));
    },
  };
}
