import { z } from 'zod';
import type { LeaseOwner, LockRecord } from './lockStore.ts';

/** Most characters (UTF-16 code units) in the key of a lock, whichever store keeps it. */
export const longestKey = 1024;

/** Most characters (UTF-16 code units) in each part of a `LeaseOwner`. */
export const longestOwnerPart = 256;

/** @throws RangeError for an empty key, or one longer than 1,024 characters; TypeError for what is no text. */
export function checkKey(key: string): void {
  checkText('A lock key', key);
  if (key.length === 0 || key.length > longestKey) {
    throw new RangeError(`A lock key has 1 to 1,024 characters, not ${key.length}`);
  }
}

/** @throws RangeError if a part of the owner is longer than 256 characters; TypeError if one is no text. */
export function checkOwner({ instance, job, runId = '' }: LeaseOwner): void {
  for (const part of [instance, job, runId]) {
    checkText('Each part of a lease owner', part);
    if (part.length > longestOwnerPart) {
      throw new RangeError(`Each part of a lease owner has at most ${longestOwnerPart} characters`);
    }
  }
}

/** In plain JavaScript it may be anything. */
function checkText(what: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`${what} is a text, not ${typeof value}`);
}

const recordSchema = z
  .object({
    fence: z.int(),
    owner: z.object({ instance: z.string(), job: z.string(), runId: z.string().exactOptional() }),
    since: z.number().nonnegative(),
    leaseMs: z.number().positive(),
  })
  .readonly();

/** A record as JSON text, for stores that keep text. @throws RangeError if a part of the owner is too long. */
export function recordToText(record: LockRecord): string {
  checkOwner(record.owner);
  return JSON.stringify(record);
}

/** The record in a text; undefined if there is none, or if it is not in our format. */
export function recordFromText(text: string | null | undefined): LockRecord | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  try {
    const { success, data } = recordSchema.safeParse(JSON.parse(text));
    return success ? data : undefined;
  } catch {
    return undefined;
  }
}
