import { type DocumentStore, type Operation, refusedBecause } from '../documents/documentStore.ts';
import { type Change, createDays, figureMoves, standingOf } from '../invoice/figures/counters.ts';

/**
 * Writes that count invoices of a shard as archived, or as those of the database again. `now`: milliseconds. @throws {StoreAway}
 */
export async function figuresOfMove(
  documents: DocumentStore,
  { shard, now }: { shard: string; now: number },
): Promise<{
  operations(changes: readonly Change[]): Operation[];
  onRefused(operations: readonly Operation[], codes: readonly number[]): Promise<void>;
}> {
  const standing = await standingOf(documents, shard, now);
  return {
    operations: (changes) => figureMoves(standing, changes),
    async onRefused(operations, codes) {
      if (codes.includes(refusedBecause.missing)) await createDays(documents, shard, operations);
    },
  };
}
