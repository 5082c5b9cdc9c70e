import type { OperationInput } from '@azure/cosmos';
import type { CosmosLocks } from './cosmosLockContainer.ts';

/** The status codes that the store tells apart (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
export const itemStatus = {
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  requestTimeout: 408,
  conflict: 409,
  preconditionFailed: 412,
  tooManyRequests: 429,
  retryWith: 449,
} as const;

/**
 * Runs a transaction. Returns the status of each operation, or undefined if all were applied. `items.batch` resolves even if
 * the batch fails.
 *
 * @throws if the answer does not say what became of it
 */
export async function transact(
  container: CosmosLocks,
  partition: string,
  operations: OperationInput[],
  abortSignal: AbortSignal,
): Promise<number[] | undefined> {
  const options = { contentResponseOnWriteEnabled: false, abortSignal };
  const { result } = await container.items.batch(operations, partition, options);
  const codes = (result ?? []).map(({ statusCode }) => statusCode);
  if (codes.length === operations.length && codes.every((code) => code < 300)) return undefined;
  const refused = codes.some((code) => isRefusal(code) || code === itemStatus.conflict);
  if (refused && !codes.some(isUncertain)) return codes;
  throw new Error(
    `Cosmos did not apply the transaction: ${codes.join(', ') || 'no answer to its operations'}`,
  );
}

/** True if an item was not there, or its condition did not hold. */
export function isRefusal(status: number | undefined): boolean {
  return status === itemStatus.notFound || status === itemStatus.preconditionFailed;
}

function isUncertain(status: number): boolean {
  const { requestTimeout, tooManyRequests, retryWith } = itemStatus;
  return status === requestTimeout || status === tooManyRequests || status === retryWith || status >= 500;
}

/** The status of an error that the SDK threw; undefined if the service gave none. `items.batch` wraps its errors. */
export function statusOfError(error: unknown): number | undefined {
  if (!(error instanceof Object)) return undefined;
  if ('code' in error) return typeof error.code === 'number' ? error.code : undefined;
  return 'cause' in error ? statusOfError(error.cause) : undefined;
}
