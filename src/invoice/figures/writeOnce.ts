import type { DocumentStore, Operation } from '../../documents/documentStore.ts';
import { patience, writeUntilClear } from '../../documents/writeUntilClear.ts';

/**
 * Makes one conditional write. False if another write broke the condition, or if there was no clear answer: the next sweep or
 * recount tries again. @throws {StoreAway} the store refuses the app as such
 */
export async function writeOnce(
  documents: DocumentStore,
  shard: string,
  operation: Operation,
): Promise<boolean> {
  const written = await writeUntilClear(
    { documents },
    {
      partition: shard,
      items: [operation],
      plan: (items) => items,
      reread: async () => undefined,
      keep: () => [],
    },
    patience.brief,
  );
  return written.kind === 'written';
}
