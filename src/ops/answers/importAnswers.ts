import { z } from 'zod';
import { pageOf, time } from './common.ts';

const rejection = z.object({
  index: z.int().describe('Place of the row in the body, from 0'),
  field: z.string(),
  error: z.string(),
});

export const importAnswer = z.object({
  importId: z.string().nullable().describe('Null if the import could not be recorded'),
  created: z.int(),
  duplicates: z.int(),
  rejectedCount: z.int(),
  rejected: z.array(rejection).describe('The first hundred'),
});
export type ImportAnswer = z.infer<typeof importAnswer>;

export const importViewAnswer = z.object({
  importId: z.string(),
  status: z.enum(['running', 'completed', 'stopped', 'interrupted']),
  by: z.string(),
  created: z.int(),
  duplicates: z.int(),
  rejected: z.int(),
  startedAt: time,
  updatedAt: time,
});

export const importsAnswer = pageOf('imports', importViewAnswer);
export const rejectedAnswer = pageOf('rejected', rejection);
