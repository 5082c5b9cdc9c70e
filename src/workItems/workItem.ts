import { z } from 'zod';

/** One piece of queued work: a stage to run for a resource. `input` is what the stage's own schema says. */
export const workItemSchema = z.strictObject({
  resourceId: z.string().min(1),
  stage: z.string().min(1),
  input: z.record(z.string(), z.json()),
});
export type WorkItem = z.infer<typeof workItemSchema>;
