import { type DocumentStore, refusedBecause } from './documentStore.ts';
import { StoreAway } from './storeAway.ts';

/**
 * Stores a document unless one with its id is there, and returns the one that is stored: of several processes that try, the
 * first decides for all. The partition is the document's `shard`. It costs one read if it is there.
 *
 * @throws {StoreAway}
 */
export async function keepFirst(
  documents: DocumentStore,
  document: { readonly id: string; readonly shard: string; readonly [field: string]: unknown },
): Promise<unknown> {
  const { id, shard } = document;
  const [before] = await documents.read(shard, [id]);
  if (before !== undefined) return before;
  const answer = await documents.transact(shard, [{ kind: 'create', document }]);
  if (answer.kind === 'committed') return document;
  const taken = answer.kind === 'refused' && answer.codes[0] === refusedBecause.taken;
  const [stored] = taken ? await documents.read(shard, [id]) : [];
  if (stored !== undefined) return stored;
  throw new StoreAway('noAnswer', answer, `document "${id}" could be neither stored nor read back`);
}
