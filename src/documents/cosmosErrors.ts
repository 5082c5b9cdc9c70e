import { StoreAway } from './storeAway.ts';

/** The status codes that the app tells apart (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
export const cosmosStatus = {
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
 * The boundary at which errors of the Cosmos SDK become the app's own: runs `request` and turns an error that means "not
 * now" into `StoreAway`, with the SDK's error as its cause. Other errors pass through.
 */
export async function fromCosmos<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    const reason = whyAway(error);
    throw reason === undefined ? error : new StoreAway(reason, error);
  }
}

/** The status code of an error that the Cosmos SDK threw; undefined if the service gave none. */
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

function whyAway(error: unknown): StoreAway['reason'] | undefined {
  const code = codeOf(error);
  // Letters instead of a number: a socket or a time-out ended the request.
  if (typeof code === 'string') return 'noAnswer';
  if (typeof code !== 'number') return undefined;
  if (isUncertainStatus(code)) return 'noAnswer';
  return code === cosmosStatus.unauthorized || code === cosmosStatus.forbidden ? 'accessDenied' : undefined;
}

/** `items.batch` wraps the error it threw, and only the cause has the code. */
function codeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || error instanceof StoreAway) return undefined;
  if ('code' in error && error.code !== undefined) return error.code;
  if (error instanceof Error && error.cause !== undefined) return codeOf(error.cause);
  return error instanceof Error && /^(Abort|Timeout)Error$/.test(error.name) ? error.name : undefined;
}
