import { z } from 'zod';
import { pageOf, time } from './common.ts';

export const outboxMessageAnswer = z.object({
  id: z.string(),
  shard: z.string(),
  destination: z.string(),
  status: z.enum(['pending', 'dispatched', 'parked']),
  createdAt: time,
  notBefore: time.nullable(),
  nextAttemptAt: time.nullable(),
  attempts: z.int(),
  lastError: z.string().nullable(),
  discarded: z
    .object({ at: time, by: z.string(), reason: z.string() })
    .nullable()
    .describe('It was never sent: somebody has given it up'),
});
export type OutboxMessageAnswer = z.infer<typeof outboxMessageAnswer>;

const total = z.int().exactOptional().describe('How many there are; on the first page only');

export const outboxAnswer = pageOf('messages', outboxMessageAnswer).extend({ total });

const deadLetter = z.object({
  id: z.string(),
  source: z.string().describe('The queue that it was in'),
  reason: z.string(),
  at: time.nullable(),
  body: z.unknown(),
});
export type DeadLetterAnswer = z.infer<typeof deadLetter>;

export const deadLettersAnswer = pageOf('deadLetters', deadLetter).extend({
  total,
  totalIsExact: z.boolean().exactOptional().describe('False: there may be more'),
});

/** Ids that were not dealt with. */
const others = {
  notFound: z.array(z.string()),
  left: z
    .array(z.object({ id: z.string(), why: z.string() }))
    .exactOptional()
    .describe('Still there: another receiver has it, or too many others are in front of it'),
};

export const redrivenAnswer = z.object({ redriven: z.array(z.string()), ...others });

export const discardedAnswer = z.object({ discarded: z.array(z.string()), ...others });
