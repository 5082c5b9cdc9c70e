import type { Container, OperationInput } from '@azure/cosmos';
import { isUncertain, isUncertainStatus } from './cosmosErrors.ts';

/** What became of a transactional batch. */
export type Transacted =
  | { kind: 'committed' }
  /** Nothing was written. One status code per operation: the one to blame has its own, the others 424. */
  | { kind: 'refused'; codes: readonly number[] }
  /** No answer, or the service was busy: it may have been written or not. Reread to find out. */
  | { kind: 'uncertain'; cause: unknown };

/** Cosmos takes at most this many operations in one batch (https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch). */
export const maxOperations = 100;

/**
 * Runs one transactional batch in one logical partition. `items.batch` resolves also when the batch fails, so every
 * result code is checked here. A refusal after a lost answer can be the echo of our own first try (the SDK repeats
 * requests whose connection broke): whoever gets `refused` rereads before it believes that somebody else was first.
 *
 * @throws what the SDK throws for a request that can never work (400, 401, 403, 404 of the container, 413)
 */
export async function transact(
  container: Container,
  partition: string,
  operations: OperationInput[],
): Promise<Transacted> {
  try {
    const { result } = await container.items.batch(operations, partition, {
      contentResponseOnWriteEnabled: false,
    });
    const codes = (result ?? []).map(({ statusCode }) => statusCode);
    if (codes.length === operations.length && codes.every((code) => code < 300)) return { kind: 'committed' };
    const busy = codes.find(isUncertainStatus);
    return busy === undefined ? { kind: 'refused', codes } : { kind: 'uncertain', cause: { code: busy } };
  } catch (cause) {
    if (isUncertain(cause)) return { kind: 'uncertain', cause };
    throw cause;
  }
}
