/** Sub-status codes that SDKs and applications act on (`x-ms-substatus`). */
export const subStatus = {
  none: 0,
  /** 400: the partition key in the header differs from the item's. */
  partitionKeyMismatch: 1001,
  /** 400: the client has to merge the answers of several partition key ranges. */
  crossPartitionQueryNotServable: 1004,
  /** 404: the session token is ahead of what is stored. */
  readSessionNotAvailable: 1002,
  /** 410: the partition key range does not exist. */
  partitionKeyRangeGone: 1002,
  /** 404: the item's container or database is missing, not the item itself. */
  ownerNotFound: 1003,
  /** 412: the `condition` of a patch did not hold. */
  patchConditionNotMet: 1110,
  /** 429: more request units than provisioned. */
  requestRateTooLarge: 3200,
} as const;

/**
 * The `code` of an error body, by HTTP status
 * (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb).
 */
const codes: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  501: 'NotImplemented',
  503: 'ServiceUnavailable',
};

/** A refusal in the service's words. The server turns it into an answer, a batch into a result. */
export class CosmosError extends Error {
  override readonly name = 'CosmosError';
  readonly status: number;
  readonly subStatus: number;
  readonly headers: Record<string, string>;
  /** JSON text for SDKs, besides the message. */
  readonly info: string | undefined;
  /** The answer is text, not JSON: it comes from in front of the service. */
  readonly isPlain: boolean;

  constructor(
    status: number,
    message: string,
    {
      subStatus: sub = subStatus.none,
      headers = {},
      info,
      isPlain = false,
      cause,
    }: {
      subStatus?: number;
      headers?: Record<string, string>;
      info?: string;
      isPlain?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.subStatus = sub;
    this.headers = headers;
    this.info = info;
    this.isPlain = isPlain;
  }
}

export const badRequest = (reason: string, sub: number = subStatus.none) =>
  new CosmosError(400, errorList(reason), { subStatus: sub });

export const badUrl = () => new CosmosError(400, 'Bad Request - Invalid URL', { isPlain: true });

export const itemNotFound = () =>
  new CosmosError(404, errorList('Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found'));

/** The container or database that would hold the requested resource does not exist. */
export const ownerNotFound = () =>
  new CosmosError(404, errorList('Owner resource does not exist'), { subStatus: subStatus.ownerNotFound });

export const alreadyExists = () =>
  new CosmosError(409, errorList('Resource with specified id or name already exists.'));

export const uniqueKeyViolated = () => new CosmosError(409, errorList('Unique index constraint violation.'));

export const preconditionFailed = (sub: number = subStatus.none) =>
  new CosmosError(412, errorList('One of the specified pre-condition is not met'), { subStatus: sub });

/** On this answer a client reads the ranges again. */
export const rangeGone = (reason = 'The partition key range does not hold this partition key.') =>
  new CosmosError(410, reason, { subStatus: subStatus.partitionKeyRangeGone });

export const tooLarge = () => new CosmosError(413, errorList('Request size is too large'));

/** Refuses a feature by name. The stand-in never answers approximately. */
export const notCovered = (feature: string) =>
  new CosmosError(501, errorList(`The local Cosmos does not support ${feature}.`));

function errorList(reason: string): string {
  return `Message: ${JSON.stringify({ Errors: [reason] })}`;
}

export function errorBody(error: CosmosError, activityId: string): string {
  if (error.isPlain) return error.message;
  return JSON.stringify({
    code: error.status === 429 ? '429' : (codes[error.status] ?? String(error.status)),
    message: `${error.message}\r\nActivityId: ${activityId}, Microsoft.Azure.Documents.Common/2.14.0`,
    ...(error.info === undefined ? {} : { additionalErrorInfo: error.info }),
  });
}
