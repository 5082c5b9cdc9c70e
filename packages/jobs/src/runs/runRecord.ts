import { z } from 'zod';

/**
 * The record of one run of a job, and its states:
 *
 *   running ──► completed | failed | cancelled
 *      └── no sign of life for too long: shown as abandoned
 *
 * A group of it: pending ──► running ──► completed | partial (time was up, or paused)
 *                                            | skipped (held elsewhere) | lost (its lease) | failed
 *
 * A group that is pending or running when its run ends is skipped or failed; if it reports later, that report counts. A
 * group that another process continues or repeats goes on counting where it was (runGroup.ts).
 *
 * A partial group has done nothing wrong, and the next run goes on where it ended: its run has completed.
 *
 * The run that created the record moves it, and a person may cancel it (`cancelRun`); every write requires that it is still
 * running. A run of the timer that found nothing to do leaves no record: with a tick every few minutes such records would
 * bury the others.
 */

export const runStatuses = ['running', 'completed', 'failed', 'cancelled', 'abandoned'] as const;
export type RunStatus = (typeof runStatuses)[number];

export const groupRecordSchema = z.object({
  status: z.enum(['pending', 'running', 'completed', 'partial', 'skipped', 'lost', 'failed']),
  lockOwner: z.string().exactOptional(),
  fence: z.number().exactOptional(),
  counts: z.record(z.string(), z.number()),
  /** The piece of work that is being done, of a job that keeps it (job.ts). */
  inHand: z.json().exactOptional(),
  /** Reason if it is partial, was skipped, lost or failed. */
  reason: z.string().exactOptional(),
});
export type GroupRecord = z.infer<typeof groupRecordSchema>;

export const runRecordSchema = z.object({
  id: z.string(),
  job: z.string(),
  /** Absent: 1. See documents/storedDocuments.ts. */
  version: z.int().exactOptional(),
  trigger: z.enum(['timer', 'manual']),
  status: z.enum(runStatuses),
  dryRun: z.boolean(),
  startedAt: z.string(),
  completedAt: z.string().exactOptional(),
  heartbeatAt: z.string(),
  /** Instance and fencing token of the latest lease. */
  lockOwner: z.string().exactOptional(),
  fence: z.number().exactOptional(),
  groups: z.record(z.string(), groupRecordSchema),
  /** The request, of a job that takes one. */
  request: z.json().exactOptional(),
  /** Id of the ended run whose unfinished groups these are. */
  resumes: z.string().exactOptional(),
  /** The trace in which the run began (tracing.ts). */
  traceparent: z.string().exactOptional(),
  reason: z.string().exactOptional(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;
