/** Messages between a campaign and the processes that run its schedules. */
import { z } from 'zod';

/** Seeds to run, or a plan that is kept (kept/), and how. */
export const orderSchema = z.object({
  from: z.int(),
  count: z.int(),
  /** The name of a plan that is kept, instead of that of the seed `from`. */
  kept: z.string().optional(),
  instances: z.int().optional(),
  days: z.number().optional(),
  strict: z.boolean(),
  /**
   * At the first violation: explain it, with as few faults as still lead to it; or only stop. `goOn` runs all seeds all the
   * same.
   */
  onViolation: z.enum(['explain', 'stop', 'goOn']),
});
export type Order = z.infer<typeof orderSchema>;

export const resultSchema = z.object({
  /** In the order of the seeds. */
  schedules: z.array(
    z.object({
      seed: z.int(),
      hash: z.string(),
      events: z.int(),
      lastedMs: z.number(),
      violation: z.object({ invariant: z.string(), what: z.string() }).optional(),
    }),
  ),
  /** Number of times that each fault met the app. */
  met: z.record(z.string(), z.int()),
  cpuMs: z.number(),
  explanation: z.array(z.string()).optional(),
});
export type Result = z.infer<typeof resultSchema>;
export type Schedule = Result['schedules'][number];
