import { z } from 'zod';
import { formatVersion } from '../documents/storedDocuments.ts';
import { activeTrace } from '../tracing.ts';
import type { RunCounts } from './job.ts';

/**
 * The record of one run of a job, and its states:
 *
 *   running ──► completed | failed | cancelled
 *      └── no sign of life for too long: shown as abandoned
 *
 * A group of it: pending ──► running ──► completed | partial (time was up, or on hold)
 *                                            | skipped (held elsewhere) | lost (its lease) | failed
 *
 * A group that is pending or running when its run ends is skipped or failed; if it reports later, that report counts. A
 * group that is taken over or repeated goes on counting where it was (runGroup.ts).
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
  /** Instance and fencing token of the lease that was taken last. */
  lockOwner: z.string().exactOptional(),
  fence: z.number().exactOptional(),
  groups: z.record(z.string(), groupRecordSchema),
  /** The request, of a job that takes one. */
  request: z.json().exactOptional(),
  /** Id of the ended run whose unfinished groups these are. */
  resumes: z.string().exactOptional(),
  /** The trace in which the run began (platform/tracing.ts). */
  traceparent: z.string().exactOptional(),
  reason: z.string().exactOptional(),
});
export type RunRecord = z.infer<typeof runRecordSchema>;

/** The record of a run that begins at `at` (ISO 8601). */
export function newRun(
  run: Pick<RunRecord, 'id' | 'job' | 'trigger' | 'dryRun' | 'groups' | 'request'>,
  at: string,
): RunRecord {
  return {
    ...run,
    ...activeTrace(),
    version: formatVersion,
    status: 'running',
    startedAt: at,
    heartbeatAt: at,
  };
}

/** True until a group has reported its end. */
export function isOpen({ status }: GroupRecord): boolean {
  return status === 'pending' || status === 'running';
}

/** The groups of a run as they stand; once the run has ended, none of them is still open. */
export function groupsOf({ status, groups }: Pick<RunRecord, 'status' | 'groups'>): RunRecord['groups'] {
  if (status === 'running') return groups;
  const closed = Object.entries(groups).map(([name, group]) => [name, isOpen(group) ? close(group) : group]);
  return Object.fromEntries(closed);

  function close(group: GroupRecord): GroupRecord {
    if (status === 'abandoned') {
      return { ...group, status: 'lost', reason: 'its process died, or was cut off' };
    }
    return group.status === 'pending'
      ? { ...group, status: 'skipped', reason: `its turn had not come when the run was ${status}` }
      : { ...group, status: 'failed', reason: `it had not ended when the run was ${status}` };
  }
}

export function addCounts(a: RunCounts, b: RunCounts): RunCounts {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** The status of a run, given its groups. */
export function statusOfGroups(groups: readonly GroupRecord[]): {
  status: 'completed' | 'failed';
  reason?: string;
} {
  const reasonOf = ({ status, reason = 'no reason given' }: GroupRecord) => `${status}: ${reason}`;
  const bad = groups.find(({ status }) => status === 'lost' || status === 'failed');
  if (bad !== undefined) return { status: 'failed', reason: reasonOf(bad) };
  const partial = groups.find(({ status }) => status === 'partial');
  return { status: 'completed', ...(partial === undefined ? {} : { reason: reasonOf(partial) }) };
}

/**
 * Silence of a run whose process must have died (ms). It is shown as abandoned, and as running again should it report once more.
 * A run at work reports every two seconds, and a claim that meets a store in
 * trouble takes some fourteen. The groups of a manual run are handed to another host if theirs dies, which takes Durable
 * Functions up to five minutes where host.json does not say less (`workItemQueueVisibilityTimeout`), so that run gets a
 * minute more.
 */
export const silentMs = { timer: 120_000, manual: 360_000 } as const;

/** True if the run has shown no sign of life for too long at `now` (milliseconds). */
export function isAbandoned(
  { status, trigger, heartbeatAt }: Pick<RunRecord, 'status' | 'trigger' | 'heartbeatAt'>,
  now: number,
): boolean {
  return status === 'running' && now - Date.parse(heartbeatAt) > silentMs[trigger];
}

export function silence({ heartbeatAt }: Pick<RunRecord, 'heartbeatAt'>): string {
  return `no sign of life since ${heartbeatAt}`;
}
