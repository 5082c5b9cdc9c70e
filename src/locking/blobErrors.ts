import { RestError } from '@azure/storage-blob';
import type { Refusal } from './lockStore.ts';

/** The service's error codes that mean something here: https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes. */
export const blobError = {
  containerNotFound: 'ContainerNotFound',
  blobExists: 'BlobAlreadyExists',
  conditionNotMet: 'ConditionNotMet',
  /** A write without a lease id to a blob that is leased (412). */
  leaseIdMissing: 'LeaseIdMissing',
  /** Acquiring what another lease holds, or what is being broken. */
  leasePresent: 'LeaseAlreadyPresent',
  leaseBreaking: 'LeaseIsBreakingAndCannotBeAcquired',
  /** Breaking where there is nothing to break. */
  leaseNotPresent: 'LeaseNotPresentWithLeaseOperation',
  leaseAlreadyBroken: 'LeaseAlreadyBroken',
  /** Renewing a lease that somebody broke. */
  leaseBroken: 'LeaseIsBrokenAndCannotBeRenewed',
} as const;

/** What the blob service refused a request for. */
export interface BlobAnswer {
  status: number;
  /** One of `blobError`, another, or ''. */
  code: string;
}

/** The refusal in an error; undefined when the error is anything else, such as a reset connection or a 5xx. */
export function blobAnswer(error: unknown): BlobAnswer | undefined {
  if (!(error instanceof RestError) || error.statusCode === undefined) return undefined;
  if (![404, 409, 412].includes(error.statusCode)) return undefined;
  // The answer to a HEAD has no body; its code is in a header.
  const code = error.code ?? error.response?.headers.get('x-ms-error-code') ?? '';
  return { status: error.statusCode, code };
}

/** What a refused renewal or write under a lease says about the lease. */
export function refusal({ status, code }: BlobAnswer): Refusal {
  const detail = `the blob service answered ${status} ${code}`.trimEnd();
  if (status === 404) return { kind: 'refused', reason: 'deleted', detail };
  if (code === blobError.leaseBroken) return { kind: 'refused', reason: 'broken', detail };
  return { kind: 'refused', reason: 'taken', detail };
}
