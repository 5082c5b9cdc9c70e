import { z } from 'zod';

/** One piece of queued work: a stage to run for a resource. `input` is what the stage's own schema says. */
export const workItemSchema = z.strictObject({
  resourceId: z.string().min(1),
  stage: z.string().min(1),
  /** Tells apart what a stage does several times for one resource; absent where it does it once. */
  occasion: z.string().min(1).max(200).exactOptional(),
  input: z.record(z.string(), z.json()),
  /** How often it could not be done yet, and since when (ISO 8601); absent at first. */
  retry: z.strictObject({ tries: z.int().min(1), since: z.iso.datetime() }).exactOptional(),
});
export type WorkItem = z.infer<typeof workItemSchema>;

/** The text of a work item without what it has been through; any other text as it is. */
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
