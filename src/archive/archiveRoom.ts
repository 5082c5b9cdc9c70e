import { maxOperations } from '../documents/documentStore.ts';
import { figureRoom } from '../invoice/figures/counters.ts';
import type { Invoice } from '../invoice/invoice.ts';

/**
 * Splits what is to be written into transactions: each invoice is one operation, and so is each patch of the figures that they
 * count in. `maps`: 2 if they move from one map of the figures to the other. Pure.
 */
export function transactionsOf<T extends { readonly invoice: Invoice }>(
  all: readonly T[],
  { maps, most = maxOperations }: { maps: 1 | 2; most?: number },
): T[][] {
  const transactions: T[][] = [];
  let room = figureRoom(maps);
  for (const one of all) {
    const current = transactions.at(-1);
    const isRoom =
      current !== undefined &&
      current.length < most &&
      current.length + 1 + room.with(one.invoice) <= maxOperations;
    if (isRoom) current.push(one);
    else {
      transactions.push([one]);
      room = figureRoom(maps);
    }
    room.add(one.invoice);
  }
  return transactions;
}
