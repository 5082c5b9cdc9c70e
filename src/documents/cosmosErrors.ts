/** The Cosmos status codes that the app tells apart (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
export const cosmosStatus = {
  created: 201,
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  requestTimeout: 408,
  conflict: 409,
  preconditionFailed: 412,
  failedDependency: 424,
  tooManyRequests: 429,
  retryWith: 449,
} as const;

/**
 * The code of an error that the Cosmos SDK threw: a status where the service answered, letters where a socket or a
 * time-out ended it. `items.batch` wraps the error, and only the cause has the code.
 */
function codeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && error.code !== undefined) return error.code;
  if (error instanceof Error && error.cause !== undefined) return codeOf(error.cause);
  return error instanceof Error && /^(Abort|Timeout)Error$/.test(error.name) ? error.name : undefined;
}

/** The status code of an error that the Cosmos SDK threw; undefined where the service gave none. */
export function statusOf(error: unknown): number | undefined {
  const code = codeOf(error);
  return typeof code === 'number' ? code : undefined;
}

/** Whether a request with this status may work later, and may even have been applied. */
export function isUncertainStatus(status: number): boolean {
  return (
    status === cosmosStatus.requestTimeout ||
    status === cosmosStatus.tooManyRequests ||
    status === cosmosStatus.retryWith ||
    status >= 500
  );
}

/** Whether a request that failed like this may work later, and may even have been applied: it was busy, or no answer came. */
export function isUncertain(error: unknown): boolean {
  const code = codeOf(error);
  return typeof code === 'number' ? isUncertainStatus(code) : typeof code === 'string';
}

/**
 * Whether the store refuses the app as such: a role, a key or a network rule is wrong. The request did nothing, and is as
 * good as before once somebody has set that right.
 */
export function isAccessDenied(error: unknown): boolean {
  const status = statusOf(error);
  return status === cosmosStatus.unauthorized || status === cosmosStatus.forbidden;
}

/** Whether the store is of no use at the moment, through no fault of what was asked of it: the same may work later. */
export function isAway(error: unknown): boolean {
  return isUncertain(error) || isAccessDenied(error);
}
