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
});
export type OutboxMessageAnswer = z.infer<typeof outboxMessageAnswer>;

export const outboxAnswer = pageOf('messages', outboxMessageAnswer);

const deadLetter = z.object({
  id: z.string(),
  source: z.string().describe('The queue that it was in'),
  reason: z.string(),
  at: time.nullable(),
  body: z.unknown(),
});
export type DeadLetterAnswer = z.infer<typeof deadLetter>;

export const deadLettersAnswer = z.object({ deadLetters: z.array(deadLetter) });

export const redrivenAnswer = z.object({ redriven: z.array(z.string()), notFound: z.array(z.string()) });
