import { createHash } from 'node:crypto';
import type { OperationInput, PatchRequestBody } from '@azure/cosmos';
import type { LockView } from '@payonce/leases';
import { checkKey } from '@payonce/leases';
import { aText, fieldsOf, listOf, anyOf, orElse } from '../answers.ts';
import { recordFromText } from '../recordText.ts';

interface RecordItem {
  version: string;
  record?: string | undefined;
}
const recordItem = { version: aText, record: orElse(aText, undefined) };

/** `leaseId` is empty once the lease was broken. The item then lasts for the rest of the lease, to tell its holder. */
interface LeaseItem {
  leaseId: string;
}
const leaseItem = { leaseId: aText };

/** The items of one lock, each if it is there. */
export const lockItems = fieldsOf({
  record: orElse(fieldsOf<RecordItem>(recordItem), undefined),
  lease: orElse(fieldsOf<LeaseItem>(leaseItem), undefined),
});

const listedKind = fieldsOf({ id: anyOf('record', 'lease'), key: aText });

/** The items of many locks. */
export const listedItems = listOf((item) => {
  const { id, key } = listedKind(item);
  return id === 'record'
    ? { id, key, ...fieldsOf<RecordItem>(recordItem)(item) }
    : { id, key, ...fieldsOf<LeaseItem>(leaseItem)(item) };
});

/** The lock as its two items show it. */
export function lockView({ version, record }: RecordItem, lease: LeaseItem | undefined): LockView {
  const held = lease !== undefined && lease.leaseId !== '';
  return { held, record: recordFromText(record), version };
}

/**
 * The partition of a lock. A key of up to 500 characters is its own; longer ones are hashed, because Cosmos takes at most
 * 2 KB (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits).
 *
 * @throws RangeError for an empty key, or one longer than 1,024 characters.
 */
export function lockPartition(key: string): string {
  checkKey(key);
  if (key.length <= 500 && key.isWellFormed() && !key.startsWith('sha256:')) return key;
  return `sha256:${createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex')}`;
}

/**
 * Seconds that Cosmos keeps the item of a lease: one more than the lease lasts. A TTL counts from `_ts`, which has whole
 * seconds, so it ends up to a second early.
 */
export function leaseTtl(leaseMs: number): number {
  return Math.ceil(leaseMs / 1000) + 1;
}

/** Fields that a patch sets, and its condition, such as `c.version = "…"`. */
export interface LockPatch {
  where: string;
  set: Readonly<Record<string, string | number>>;
}

export function lockPatchBody({ where, set }: LockPatch): PatchRequestBody {
  const operations = Object.entries(set).map(([name, value]) => ({
    op: 'set' as const,
    path: `/${name}`,
    value,
  }));
  return { condition: `from c where ${where}`, operations };
}

/** A patch as a part of a transaction. */
export function patchIn(id: 'record' | 'lease', patch: LockPatch): OperationInput {
  return { operationType: 'Patch', id, resourceBody: lockPatchBody(patch) };
}

/** A text in a condition. Conditions take no parameters, and a JSON literal ends no string early. */
export const quoted = (text: string) => JSON.stringify(text);
