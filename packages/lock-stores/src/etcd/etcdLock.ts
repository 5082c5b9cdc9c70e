/** Layout of a lock in etcd. */
import { createHash } from 'node:crypto';
import type { LockView, LostReason, Refusal } from '@payonce/leases';
import { checkKey } from '@payonce/leases';
import { recordFromText } from '../recordText.ts';
import {
  base64,
  type EtcdAnswer,
  type EtcdCompare,
  type EtcdEntry,
  type EtcdOperation,
} from './etcdMessages.ts';

/** A lock as one transaction sees it. */
export interface EtcdLock {
  /** There as long as the lock is. Its value is the record, or empty. */
  record: EtcdEntry | undefined;
  /** There as long as a lease is. Its value is the id of the lease, or `brokenLeaseValue`. */
  lease: EtcdEntry | undefined;
}

/** The keys of a lock, in base64. */
export interface EtcdLockKeys {
  record: string;
  lease: string;
  /** Reads both. */
  get: readonly EtcdOperation[];
  /** Prefix of the keys of the waiters. Their order is that of their creation. */
  line: string;
}

export const brokenLeaseValue = 'broken';

/** @throws RangeError for an empty key, or one longer than 1,024 characters. */
export function keysOf(prefix: string, key: string): EtcdLockKeys {
  checkKey(key);
  const [record, lease] = [base64(`${prefix}record/${key}`), base64(`${prefix}lease/${key}`)];
  const line = `${prefix}line/${createHash('sha256').update(key).digest('base64url')}/`;
  return {
    record,
    lease,
    line,
    get: [{ request_range: { key: record } }, { request_range: { key: lease } }],
  };
}

/**
 * The id of the etcd lease behind a lease: the same whenever an acquire is repeated, and in every process. Another length
 * needs another etcd lease.
 */
export function etcdLeaseId(
  { lease }: Pick<EtcdLockKeys, 'lease'>,
  leaseId: string,
  leaseMs: number,
): string {
  const hash = createHash('sha256').update(`${lease}\n${leaseId}\n${leaseMs}`).digest();
  // From 1 to 2^63 - 1: etcd would choose an id itself in place of 0.
  return String((hash.readBigUInt64BE() >> 1n) | 1n);
}

export const keyExists = (key: string): EtcdCompare => {
  return { target: 'CREATE', result: 'GREATER', key, create_revision: '0' };
};

/** Requires that the key is as it was seen, or still missing. */
export const isAsSeen = (key: string, seen: EtcdEntry | undefined): EtcdCompare => {
  return { target: 'MOD', result: 'EQUAL', key, mod_revision: seen?.modRevision ?? '0' };
};

/** Requires that the key was last written at this revision. No key has -1, and one that is missing has 0. */
export const isVersion = (key: string, version: string): EtcdCompare => {
  const mod_revision = /^[1-9]\d{0,17}$/.test(version) ? version : '-1';
  return { target: 'MOD', result: 'EQUAL', key, mod_revision };
};

/** False if the key is missing, whichever the result. */
export const hasValue = (key: string, result: 'EQUAL' | 'NOT_EQUAL', value: string): EtcdCompare => {
  return { target: 'VALUE', result, key, value: base64(value) };
};

/** The lock in the answer to `get`. */
export function lockFrom({ ranges: [record, lease] }: EtcdAnswer): EtcdLock {
  return { record: record?.entries[0], lease: lease?.entries[0] };
}

export function viewOfEntry(record: EtcdEntry, lease: EtcdEntry | undefined): LockView {
  const held = lease !== undefined && lease.value !== brokenLeaseValue;
  return { held, record: recordFromText(record.value), version: record.modRevision };
}

/** Why the lock is not held by a lease that asks. */
export function refusalOfEntry({ record, lease }: EtcdLock): Refusal {
  const refused = (reason: LostReason, detail: string): Refusal => ({ kind: 'refused', reason, detail });
  if (record === undefined) return refused('deleted', 'etcd has no such lock');
  if (lease === undefined) return refused('taken', 'etcd has ended the lease');
  if (lease.value === brokenLeaseValue) return refused('broken', 'someone broke the lease');
  return refused('taken', 'another lease has the lock');
}

/** Reads the first of the waiters. */
export function firstInLine(line: string): EtcdOperation {
  return {
    request_range: {
      key: base64(line),
      range_end: endOf(line),
      limit: '1',
      sort_order: 'ASCEND',
      sort_target: 'CREATE',
    },
  };
}

/** Reads the last of the waiters whose key was created before this revision. */
export function lastBefore(line: string, createRevision: string): EtcdOperation {
  return {
    request_range: {
      key: base64(line),
      range_end: endOf(line),
      limit: '1',
      sort_order: 'DESCEND',
      sort_target: 'CREATE',
      max_create_revision: String(BigInt(createRevision) - 1n),
    },
  };
}

/** Reads up to `limit` keys from `from` on that begin with `beginning`. */
export function page(beginning: string, from: string, limit: number): EtcdOperation {
  return { request_range: { key: base64(from), range_end: endOf(beginning), limit: String(limit) } };
}

function endOf(beginning: string): string {
  const end = Buffer.from(beginning, 'utf8');
  const last = end.length - 1;
  // The last byte of UTF-8 is never 255.
  end.writeUInt8(end.readUInt8(last) + 1, last);
  return end.toString('base64');
}
