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

export const fileBegunAnswer = z.object({ importId: z.string() });

export const importViewAnswer = z.object({
  importId: z.string(),
  fileName: z.string().nullable().describe('Null: a body of rows that was sent by itself'),
  rows: z.int().nullable().describe('Rows of the file'),
  columns: z.array(z.string()).describe('Of the file, if it is a CSV'),
  separator: z.string().describe('Between its values'),
  status: z.enum(['running', 'completed', 'stopped', 'interrupted']),
  by: z.string(),
  created: z.int(),
  duplicates: z.int(),
  rejected: z.int(),
  sums: z
    .array(z.object({ currency: z.string(), amountMinor: z.number() }))
    .describe('Amounts of what was created'),
  startedAt: time,
  updatedAt: time,
});

export type ImportViewAnswer = z.infer<typeof importViewAnswer>;

export const importsAnswer = pageOf('imports', importViewAnswer);
export const rejectedAnswer = pageOf(
  'rejected',
  rejection.extend({
    index: z.int().describe('Place of the row in the body, from 0; of a file, the number of the row in it'),
    row: z
      .unknown()
      .describe('Of a file: the cells of the row or the item, as they were sent; absent if they are long')
      .exactOptional(),
  }),
);
export type RefusedRow = z.infer<typeof rejectedAnswer>['rejected'][number];
