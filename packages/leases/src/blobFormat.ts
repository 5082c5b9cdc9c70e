import { createHash } from 'node:crypto';
import { RestError } from '@azure/storage-blob';
import { checkKey, checkOwner } from './lockKeys.ts';
import type { LockRecord, LockView, Refusal } from './lockStore.ts';

const longestName = 1024;
const mostSegments = 50;
export const readablePart = 200;

/**
 * The blob name of a lock, another for each key: a plain key as it is (`jobs/nightly-report/3`), other characters escaped with `=`, a
 * name too long or too deep as a readable beginning and a hash. The part before the first slash stays a folder of its own.
 *
 * Blob names have 1 to 1,024 characters and at most 254 segments, and must not end in a dot or slash
 * (https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
 *
 * @throws RangeError for an empty key or one longer than 1,024 characters (UTF-16 code units).
 */
export function blobName(key: string): string {
  checkKey(key);
  const escaped = escapeKey(key);
  if (escaped.length <= longestName && escaped.split('/').length <= mostSegments) return escaped;
  // Escaped keys never contain `==`, so a hashed name cannot collide with one.
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex');
  const [folder = '', ...rest] = key.slice(0, readablePart).split('/');
  const beginning = rest.length === 0 ? folder : `${folder}/${rest.join('-')}`;
  const readable = escapeKey(beginning)
    .slice(0, readablePart)
    .replace(/=[0-9a-fu]*$/, '');
  return `${readable}==${hash}`;
}

/** Works on code units, so that lone surrogates and different compositions of a letter stay distinct. */
export function escapeKey(key: string): string {
  let name = '';
  for (let i = 0; i < key.length; i++) {
    const char = key.charAt(i);
    name += isPlain(char, key.charAt(i - 1), key.charAt(i + 1)) ? char : escapeUnit(char.charCodeAt(0));
  }
  return name;
}

function isPlain(char: string, before: string, after: string): boolean {
  // URL libraries fold `.`, `..` and doubled slashes: no segment begins or ends in a dot, and none is empty.
  if (char === '.') return before !== '' && before !== '/' && after !== '' && after !== '/';
  if (char === '/') return before !== '' && before !== '/' && after !== '';
  return /[A-Za-z0-9_-]/.test(char);
}

function escapeUnit(unit: number): string {
  return unit < 0x100 ? `=${unit.toString(16).padStart(2, '0')}` : `=u${unit.toString(16).padStart(4, '0')}`;
}

/** Metadata of a lock's blob: names are case-insensitive, values travel as HTTP headers, 8 KB in all. */
export type LockMetadata = Record<string, string>;

/**
 * The metadata of a lock, with the record of a holder that took a fence. @throws RangeError if an owner has over 256 characters
 */
export function toMetadata(key: string, record?: LockRecord): LockMetadata {
  const metadata: LockMetadata = { key: toHeader(key) };
  if (record === undefined) return metadata;
  const { instance, job, runId } = record.owner;
  checkOwner(record.owner);
  return {
    ...metadata,
    instance: toHeader(instance),
    job: toHeader(job),
    ...(runId === undefined ? {} : { runid: toHeader(runId) }),
    since: new Date(record.since).toISOString(),
    leasems: String(record.leaseMs),
    fence: String(record.fence),
  };
}

/** The record in the metadata. Undefined if no holder has left one, or if it is not in our format. */
export function fromMetadata(metadata: LockMetadata): LockRecord | undefined {
  const { instance, job, runid, since, leasems, fence } = metadata;
  if (instance === undefined || job === undefined || since === undefined) return undefined;
  const record: LockRecord = {
    fence: Number(fence),
    owner: {
      instance: fromHeader(instance),
      job: fromHeader(job),
      ...(runid === undefined ? {} : { runId: fromHeader(runid) }),
    },
    since: Date.parse(since),
    leaseMs: Number(leasems),
  };
  const valid = Number.isSafeInteger(record.fence) && record.since >= 0 && record.leaseMs > 0;
  return valid ? record : undefined;
}

/** Printable ASCII stays readable. Anything else becomes `~` and the base64url of its UTF-16 code units. */
function toHeader(text: string): string {
  return /^[\x21-\x7d][\x21-\x7e]*$/.test(text)
    ? text
    : `~${Buffer.from(text, 'utf16le').toString('base64url')}`;
}

export function fromHeader(text: string): string {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text;
}

/** Blobs in other states can be acquired (https://learn.microsoft.com/rest/api/storageservices/lease-blob). */
const heldStates: readonly string[] = ['leased', 'breaking'];

/** A version as an ETag. One that this store cannot have given out becomes an ETag that no blob has. */
export function etag(version: string): string {
  return /^"[\x21\x23-\x7e]+"$/.test(version) ? version : '"none"';
}

export function view(state = '', metadata: Record<string, string> = {}, version = '', date?: Date): LockView {
  const held = heldStates.includes(state);
  return { held, record: fromMetadata(metadata), version, now: date?.getTime() };
}

/** Error codes (https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes). */
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

/** The refusal (404, 409 or 412) in an error. Undefined for any other error: it says nothing about the lock. */
export function blobAnswer(error: unknown): BlobAnswer | undefined {
  if (!(error instanceof RestError) || error.statusCode === undefined) return undefined;
  if (![404, 409, 412].includes(error.statusCode)) return undefined;
  return { status: error.statusCode, code: errorCode(error) };
}

/** A HEAD response has no body; its code is in a header. */
export function errorCode({ code, response }: RestError): string {
  return code ?? response?.headers.get('x-ms-error-code') ?? '';
}

/** The loss that a refused renewal, or a refused write under a lease, tells of. */
export function blobRefusal({ status, code }: BlobAnswer): Refusal {
  const detail = `the blob service answered ${status} ${code}`.trimEnd();
  if (status === 404) return { kind: 'refused', reason: 'deleted', detail };
  if (code === blobError.leaseBroken) return { kind: 'refused', reason: 'broken', detail };
  return { kind: 'refused', reason: 'taken', detail };
}
