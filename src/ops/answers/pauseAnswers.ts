import { z } from 'zod';
import { time } from './common.ts';

/** A pause that is in force. */
export const pauseAnswer = z.object({
  reason: z.string(),
  by: z.string(),
  at: time,
  until: time.nullable().describe('When it ends by itself'),
});
export type PauseAnswer = z.infer<typeof pauseAnswer>;

export const pauseInForceAnswer = z.object({ paused: pauseAnswer.nullable() });

export const pausedAnswer = z.object({
  paused: pauseAnswer,
  holdsFrom: time.describe('From then on no instance begins a claim or a call to the provider'),
});

export const resumedAnswer = z.object({
  paused: z.null(),
  resumed: z.boolean().describe('False: no pause was in force'),
  pausedAt: time.exactOptional(),
  pausedBy: z.string().exactOptional(),
  runId: z.string().nullable().exactOptional().describe('The run that pays what is due'),
});
