import { checkOwner } from '../../lockRecord.ts';
import type { LockRecord } from '../../lockStore.ts';

/**
 * Metadata of a lock's blob. Names are case-insensitive, values travel as HTTP headers, the limit is 8 KB in
 * all.
 */
export type LockMetadata = Record<string, string>;

/**
 * The metadata of a lock, with the record of a holder that took a fence.
 *
 * @throws RangeError if a part of the owner is longer than 256 characters.
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

/** The key in a lock's metadata. */
export function keyOf(metadata: LockMetadata): string | undefined {
  return metadata.key === undefined ? undefined : fromHeader(metadata.key);
}

/**
 * Printable ASCII stays as it is, so that people can read it. Anything else becomes `~` and the base64url of
 * its UTF-16 code units.
 */
function toHeader(text: string): string {
  return /^[\x21-\x7d][\x21-\x7e]*$/.test(text)
    ? text
    : `~${Buffer.from(text, 'utf16le').toString('base64url')}`;
}

function fromHeader(text: string): string {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text;
}
