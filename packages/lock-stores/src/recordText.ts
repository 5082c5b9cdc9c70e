import type { LeaseOwner, LockRecord } from '@payonce/leases';
import { checkOwner } from '@payonce/leases';

/**
 * A record as JSON text, for stores that keep text. The fence comes first, so that a statement or a script of the server finds it.
 *
 * @throws RangeError if a part of the owner is too long.
 */
export function recordToText({ fence, ...rest }: LockRecord): string {
  return `{"fence":${fence}${recordTail(rest)}`;
}

/** Text of a record after the fence, for servers that count the fence themselves. */
export function recordTail({ owner, since, leaseMs }: Omit<LockRecord, 'fence'>): string {
  checkOwner(owner);
  return `,${JSON.stringify({ owner, since, leaseMs }).slice(1)}`;
}

/** The record in a text; undefined if there is none, or if it is not in our format. */
export function recordFromText(text: string | null | undefined): LockRecord | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is LockRecord {
  if (!isObject(value)) return false;
  const { fence, owner, since, leaseMs } = value as Partial<LockRecord>;
  const times = typeof since === 'number' && since >= 0 && typeof leaseMs === 'number' && leaseMs > 0;
  return Number.isSafeInteger(fence) && isOwner(owner) && times;
}

function isOwner(value: unknown): value is LeaseOwner {
  if (!isObject(value)) return false;
  const { instance, job, runId = '' } = value as Partial<LeaseOwner>;
  return [instance, job, runId].every((part) => typeof part === 'string');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
