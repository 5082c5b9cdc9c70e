/** Orders to simulate outages, and the answers. */
import { z } from 'zod';
import { outageSeenSchema } from './judgeOutage.ts';
import { awayServices, manners } from './outageCell.ts';

export const outageOrderSchema = z.object({
  away: z.array(z.enum(awayServices)),
  minutes: z.number(),
  how: z.enum(manners),
  seed: z.int(),
});
export type OutageOrder = z.infer<typeof outageOrderSchema>;

export const outageAnswerSchema = z.object({
  seen: outageSeenSchema,
  /** The invariant of the simulation that did not hold. */
  violation: z.string().optional(),
  cpuMs: z.number(),
});
export type OutageAnswer = z.infer<typeof outageAnswerSchema>;
