import type { DocumentStore } from '../../packages/jobs/src/documents/documentStore.ts';
import { createDays, counterPatches, standingOf } from '../../src/invoice/counters/counters.ts';
import { type Invoice, invoiceSchema } from '../../src/invoice/invoice.ts';

/**
 * Stores an invoice as it is, past the store, with what it adds to the figures of its shard: nothing, if it cannot be read.
 * `now`: milliseconds.
 */
export async function putCounted(
  documents: DocumentStore,
  { _etag, ...document }: Invoice,
  now: number,
): Promise<void> {
  const { shard } = document;
  const standing = await standingOf(documents, shard, now);
  const figures = isCountable(document) ? counterPatches(standing, [{ after: document }]) : [];
  await createDays(documents, shard, figures);
  const answer = await documents.transact(shard, [{ kind: 'create', document }, ...figures]);
  if (answer.kind !== 'committed') throw new Error(`${document.id} could not be stored: ${answer.kind}`);
}

function isCountable(document: unknown): boolean {
  const { success, data } = invoiceSchema.omit({ _etag: true }).safeParse(document);
  return success && Number.isSafeInteger(data.amountMinor);
}
