import type { LockRecord } from '@payonce/leases';
import { checkOwner } from '@payonce/leases';
import { z } from 'zod';

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
