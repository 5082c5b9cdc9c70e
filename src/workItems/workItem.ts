import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/**
 * Bytes of a resource's id. It is a partition key of Cosmos DB, which takes 2,048
 * (https://learn.microsoft.com/azure/cosmos-db/concepts-limits), and part of a lock's key.
 */
const longestResourceId = 255;

/**
 * One piece of queued work: a stage to run for a resource. `input` is what the stage's own schema says. Fields that it does
 * not know are kept when the item is sent again.
 */
export const workItemSchema = tolerantObject({
  /** Absent unless a release sends something that older ones cannot do; see documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  resourceId: z
    .string()
    .min(1)
    .refine((id) => id.isWellFormed() && Buffer.byteLength(id) <= longestResourceId, {
      error: `expected at most ${longestResourceId} bytes of well-formed UTF-8`,
    }),
  stage: z.string().min(1),
  /** Tells apart what a stage does several times for one resource; absent if it does it once. */
  occasion: z.string().min(1).max(200).exactOptional(),
  input: z.record(z.string(), z.json()),
  /** How often it could not be done yet, and since when (ISO 8601); absent at first. */
  retry: tolerantObject({ tries: z.int().min(1), since: z.iso.datetime() }).exactOptional(),
});
export type WorkItem = z.infer<typeof workItemSchema>;

/** The text of a work item without its history of retries; any other text as it is. */
export function afresh(text: string): string {
  const parsed = workItemSchema.safeParse(jsonOf(text));
  if (!parsed.success) return text;
  const { retry: _, ...item } = parsed.data;
  return JSON.stringify(item);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The name under which the effect of a work item is recorded, unique for its resource. */
export function effectName({ stage, occasion }: Pick<WorkItem, 'stage' | 'occasion'>): string {
  return occasion === undefined ? stage : `${stage}:${occasion}`;
}
