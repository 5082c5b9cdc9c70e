import type { LockRecord } from './lockStore.ts';

/** Blob metadata of a lock: names are case-insensitive, values go through HTTP headers, 8 KB in all. */
export type LockMetadata = Record<string, string>;

/** Characters of one part of an owner. */
export const longestOwnerPart = 256;

/** @throws RangeError when a part of the owner is longer than 256 characters. */
export function toMetadata(key: string, record?: LockRecord): LockMetadata {
  const metadata: LockMetadata = { key: toHeader(key) };
  if (record === undefined) return metadata;
  const { instance, job, runId } = record.owner;
  for (const part of [instance, job, runId ?? '']) {
    if (part.length > longestOwnerPart) {
      throw new RangeError(`An owner's part has at most ${longestOwnerPart} characters`);
    }
  }
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

/** Undefined when no holder has left a record, or when what is there is none of ours. */
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

/** The key that a lock's metadata names. */
export function keyOf(metadata: LockMetadata): string | undefined {
  return metadata.key === undefined ? undefined : fromHeader(metadata.key);
}

/** Printable ASCII as it is, so that a person can read it; all else as `~` and base64url of its UTF-16 code units. */
function toHeader(text: string): string {
  return /^[\x21-\x7d][\x21-\x7e]*$/.test(text)
    ? text
    : `~${Buffer.from(text, 'utf16le').toString('base64url')}`;
}

function fromHeader(text: string): string {
  return text.startsWith('~') ? Buffer.from(text.slice(1), 'base64url').toString('utf16le') : text;
}
