import { z } from 'zod';

/** One piece of queued work: a stage to run for a resource. `input` is what the stage's own schema says. */
export const workItemSchema = z.strictObject({
  resourceId: z.string().min(1),
  stage: z.string().min(1),
  /** Tells apart what a stage does several times for one resource; absent where it does it once. */
  occasion: z.string().min(1).max(200).exactOptional(),
  input: z.record(z.string(), z.json()),
});
export type WorkItem = z.infer<typeof workItemSchema>;

/** The name under which the effect of a work item is recorded, unique for its resource. */
export function effectName({ stage, occasion }: Pick<WorkItem, 'stage' | 'occasion'>): string {
  return occasion === undefined ? stage : `${stage}:${occasion}`;
}
