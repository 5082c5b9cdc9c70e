import { z } from 'zod';
import { pageOf, time } from './common.ts';

const counts = z.record(z.string(), z.number());

const group = z.object({
  status: z.enum(['pending', 'running', 'completed', 'partial', 'skipped', 'lost', 'failed']),
  lockOwner: z.string().exactOptional(),
  fence: z.number().exactOptional(),
  counts,
  reason: z.string().exactOptional(),
});

export const runAnswer = z.object({
  runId: z.string(),
  job: z.string(),
  trigger: z.enum(['timer', 'manual']),
  status: z.enum(['running', 'completed', 'failed', 'cancelled', 'abandoned']),
  dryRun: z.boolean(),
  startedAt: time,
  completedAt: time.nullable(),
  heartbeatAt: time,
  lockOwner: z.string().nullable(),
  fence: z.number().nullable(),
  counts,
  groups: z.record(z.string(), group),
  request: z.unknown().describe('What a bulk run was asked to do; else null'),
  traceId: z.string().nullable().describe('Of the trace of the run, if tracing is on'),
  reason: z.string().nullable(),
});
export type RunAnswer = z.infer<typeof runAnswer>;

export const runsAnswer = pageOf('runs', runAnswer);

export const refusedAnswer = pageOf('refused', z.object({ id: z.string(), why: z.string() }));

export const startedAnswer = z.object({ runId: z.string(), status: z.string() });
