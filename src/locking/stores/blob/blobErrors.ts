import { RestError } from '@azure/storage-blob';
import type { Refusal } from '../../lockStore.ts';

/**
 * The blob service's error codes that matter here:
 * https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes.
 */
export const blobError = {
  containerNotFound: 'ContainerNotFound',
  blobExists: 'BlobAlreadyExists',
  conditionNotMet: 'ConditionNotMet',
  /** A write without a lease id to a leased blob (412). */
  leaseIdMissing: 'LeaseIdMissing',
  /** Acquire: another lease holds the blob, or its lease is being broken. */
  leasePresent: 'LeaseAlreadyPresent',
  leaseBreaking: 'LeaseIsBreakingAndCannotBeAcquired',
  /** Break: there is no lease to break. */
  leaseNotPresent: 'LeaseNotPresentWithLeaseOperation',
  leaseAlreadyBroken: 'LeaseAlreadyBroken',
  /** Renew: someone broke the lease. */
  leaseBroken: 'LeaseIsBrokenAndCannotBeRenewed',
} as const;

/** A refusal by the blob service. */
export interface BlobAnswer {
  status: number;
  /** One of `blobError`, any other code of the service, or '' if it sent none. */
  code: string;
}

/**
 * The refusal (404, 409 or 412) in an error. Undefined for any other error, such as a reset connection or a
 * 5xx: those say nothing about the lock.
 */
export function blobAnswer(error: unknown): BlobAnswer | undefined {
  if (!(error instanceof RestError) || error.statusCode === undefined) return undefined;
  if (![404, 409, 412].includes(error.statusCode)) return undefined;
  // A HEAD response has no body; its code is in a header.
  const code = error.code ?? error.response?.headers.get('x-ms-error-code') ?? '';
  return { status: error.statusCode, code };
}

/** True if the service refuses the credential (401, 403) or the name of the container (400). */
export function blobServiceDenies(error: unknown): boolean {
  return error instanceof RestError && [400, 401, 403].includes(error.statusCode ?? 0);
}

/** What a refused renewal, or a refused write under a lease, says about the lease. */
export function refusal({ status, code }: BlobAnswer): Refusal {
  const detail = `the blob service answered ${status} ${code}`.trimEnd();
  if (status === 404) return { kind: 'refused', reason: 'deleted', detail };
  if (code === blobError.leaseBroken) return { kind: 'refused', reason: 'broken', detail };
  return { kind: 'refused', reason: 'taken', detail };
}
