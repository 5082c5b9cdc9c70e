/** The Cosmos status codes that the app tells apart (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
export const cosmosStatus = {
  created: 201,
  badRequest: 400,
  notFound: 404,
  requestTimeout: 408,
  conflict: 409,
  preconditionFailed: 412,
  failedDependency: 424,
  tooManyRequests: 429,
  retryWith: 449,
} as const;

/** The status code of an error that the Cosmos SDK threw; undefined where the service gave none. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}

/**
 * Whether a request that failed like this may work later, and may even have been applied: no answer arrived (the SDK
 * gives a socket error code in letters), or the service was busy.
 */
export function isUncertain(error: unknown): boolean {
  const status = statusOf(error);
  if (status === undefined) return isSocketError(error);
  return (
    status === cosmosStatus.requestTimeout ||
    status === cosmosStatus.tooManyRequests ||
    status === cosmosStatus.retryWith ||
    status >= 500
  );
}

function isSocketError(error: unknown): boolean {
  return (
    error instanceof Error &&
    ('code' in error || error.name === 'AbortError' || error.name === 'TimeoutError')
  );
}
