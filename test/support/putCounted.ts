import type { DocumentStore } from '../../packages/jobs/src/documents/documentStore.ts';
import { createDays, counterPatches, standingOf } from '../../src/invoice/counters/counters.ts';
import { type Invoice, invoiceSchema } from '../../src/invoice/invoice.ts';

/** Invoices of one transaction, which takes 100 operations: the figures of each may be those of two days. */
const atOnce = 30;

/**
 * Stores invoices as they are, past the store, with what each adds to the figures of its shard: nothing, if it cannot be read.
 * `now`: milliseconds.
 */
export async function putCounted(
  documents: DocumentStore,
  invoices: readonly Invoice[],
  now: number,
): Promise<void> {
  for (const [shard, all] of Map.groupBy(invoices, (invoice) => invoice.shard)) {
    for (let from = 0; from < all.length; from += atOnce) {
      const some = all.slice(from, from + atOnce).map(({ _etag, ...document }) => document);
      const standing = await standingOf(documents, shard, now);
      const counted = some.filter(isCountable).map((after) => ({ after }));
      const figures = counted.length > 0 ? counterPatches(standing, counted) : [];
      await createDays(documents, shard, figures);
      const creates = some.map((document) => ({ kind: 'create' as const, document }));
      const answer = await documents.transact(shard, [...creates, ...figures]);
      if (answer.kind !== 'committed') {
        throw new Error(`${some.map(({ id }) => id).join(', ')} could not be stored: ${answer.kind}`);
      }
    }
  }
}

function isCountable(document: unknown): boolean {
  const { success, data } = invoiceSchema.omit({ _etag: true }).safeParse(document);
  return success && Number.isSafeInteger(data.amountMinor);
}
