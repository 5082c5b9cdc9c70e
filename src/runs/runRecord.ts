import { z } from 'zod';
import type { Page } from '../documents/pages.ts';
import { formatVersion } from '../documents/storedDocuments.ts';
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import { traceIdOf } from '../platform/traceparent.ts';
import { activeTrace } from '../platform/tracing.ts';
import type { Job, RunCounts } from './job.ts';

/**
 * The record of one run of a job, and its states:
 *
 *   running ──► completed | failed | cancelled | abandoned (its process died: runRecord.ts)
 *
 * A group of it: pending ──► running ──► completed | partial (time was up, or on hold)
 *                                            | skipped (held elsewhere) | lost (its lease) | failed
 *
 * A group that is pending or running when its run ends is skipped or failed; if it reports later, that report counts. A
 * group that is taken over or repeated goes on counting where it was (runGroup.ts).
 *
 * A partial group has done nothing wrong, and the next run goes on where it ended: its run has completed.
 *
 * The run that created the record moves it, and a person may cancel it (manualRun.ts); every write requires that it is still
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
  /** Why it is partial, was skipped, lost or failed. */
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
  /** What was asked for, of a job that takes a request. */
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

/** Whether a group has not said how it ended. */
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

/** A run as the outside sees it. */
export interface RunView {
  runId: string;
  job: string;
  trigger: RunRecord['trigger'];
  status: RunStatus;
  dryRun: boolean;
  startedAt: string;
  completedAt: string | null;
  heartbeatAt: string;
  lockOwner: string | null;
  fence: number | null;
  counts: RunCounts;
  groups: Record<string, Omit<GroupRecord, 'inHand'>>;
  /** What was asked for, of a job that takes a request; else null. */
  request: RunRecord['request'] | null;
  /** 32 hex digits, if the run was traced. */
  traceId: string | null;
  reason: string | null;
}

export function runView(record: RunRecord): RunView {
  const { id, completedAt = null, lockOwner = null, fence = null, reason = null, request = null } = record;
  const { job, trigger, status, dryRun, startedAt, heartbeatAt } = record;
  const groups = groupsOf(record);
  const counts = Object.values(groups).reduce<RunCounts>((sum, group) => addCounts(sum, group.counts), {});
  return {
    runId: id,
    job,
    trigger,
    status,
    dryRun,
    startedAt,
    completedAt,
    heartbeatAt,
    lockOwner,
    fence,
    counts,
    groups: Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, withoutPiece(group)])),
    request,
    traceId: traceIdOf(record.traceparent) ?? null,
    reason,
  };
}

/** What a piece holds is for the run that goes on with it. */
function withoutPiece(group: GroupRecord): Omit<GroupRecord, 'inHand'> {
  const { inHand: _, ...rest } = group;
  return rest;
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

/** Where run records are kept. All methods may reject with `StoreAway`. */
export interface RunStore {
  /** Creates a record; false if there is one with this id. */
  create(record: RunRecord): Promise<boolean>;
  /** @throws {NewerVersion} */
  read(job: string, runId: string): Promise<RunRecord | undefined>;
  /** One page of the runs of a job, newest first. @throws {BadContinuation} */
  list(query: ListRuns): Promise<Page<RunRecord>>;
  /**
   * Records how a group stands; also the run's sign of life. False if the run has ended meanwhile; then the group is still
   * recorded if it is over. A record with a smaller fence than the stored one changes nothing, and the answer is false.
   */
  updateGroup(run: RunKey, group: string, record: GroupRecord, at: string): Promise<boolean>;
  /** Ends a run; its open groups are shown as ended (`groupsOf`). False if it has ended already. */
  end(run: RunKey, end: EndOfRun): Promise<boolean>;
}

export interface EndOfRun {
  status: Exclude<RunStatus, 'running'>;
  reason?: string;
  at: string;
  /** Ends it only if this is still its last sign of life, which the record keeps. */
  heartbeatAt?: string;
}

export interface RunKey {
  job: string;
  runId: string;
}

export interface ListRuns {
  job: string;
  /** Absent: all of them. Abandoned are those that are stored so, and with `silentSince` those still to be. */
  status?: RunStatus;
  /** A running run whose last sign of life is older counts as abandoned. Absent: none does. */
  silentSince?: SilentSince;
  continuation?: string;
  pageSize: number;
}

/** Times (ISO 8601, UTC), by what started a run. */
export type SilentSince = Readonly<Record<RunRecord['trigger'], string>>;

/**
 * Runs whose process has died. Nobody is left to say so, so their last sign of life does:
 *
 *   running ──no sign of life for too long──► shown as abandoned at once ──the next run of the job──► stored as ended
 *
 * A run that was only slow or cut off from the store learns at its next report that it was ended, and stops; the run that
 * follows does the rest. What it did after its last report is not in its counts.
 */

/**
 * Silence that is too long, in milliseconds. A run at work reports every two seconds, and a claim that meets a store in
 * trouble takes some fourteen. The groups of a manual run are handed to another host if theirs dies, which takes Durable
 * Functions up to five minutes where host.json does not say less (`workItemQueueVisibilityTimeout`), so that run gets a
 * minute more.
 */
const silentMs = { timer: 120_000, manual: 360_000 } as const satisfies Record<RunRecord['trigger'], number>;

/** Running runs that are looked at: far more than can be running at once. */
const mostRunning = 100;

/** Whether nobody is at work on the run any more at `now` (milliseconds). */
export function isAbandoned(
  { status, trigger, heartbeatAt }: Pick<RunRecord, 'status' | 'trigger' | 'heartbeatAt'>,
  now: number,
): boolean {
  return status === 'running' && now - Date.parse(heartbeatAt) > silentMs[trigger];
}

/** The run as people should see it at `now` (milliseconds), whether somebody has closed its record yet or not. Pure. */
export function asShown(record: RunRecord, now: number): RunRecord {
  const shown: RunRecord = isAbandoned(record, now)
    ? { ...record, status: 'abandoned', reason: silence(record) }
    : record;
  return { ...shown, groups: groupsOf(shown) };
}

/** What the store looks for, to find the runs that are shown with this status at `now` (milliseconds). Pure. */
export function storedAs(status: RunStatus, now: number): { status: RunStatus; silentSince?: SilentSince } {
  if (status !== 'running' && status !== 'abandoned') return { status };
  const before = (trigger: RunRecord['trigger']) => new Date(now - silentMs[trigger]).toISOString();
  return { status, silentSince: { timer: before('timer'), manual: before('manual') } };
}

function silence({ heartbeatAt }: Pick<RunRecord, 'heartbeatAt'>): string {
  return `no sign of life since ${heartbeatAt}`;
}

interface Closing {
  runs: RunStore;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

/** Ends the record of an abandoned run; false if it is none, or has given a sign of life since it was read. */
export async function closeRun({ runs, instance }: Closing, job: Job, run: RunRecord): Promise<boolean> {
  const { clock, telemetry } = instance;
  const now = clock.now();
  if (!isAbandoned(run, now)) return false;
  const { id: runId, trigger, heartbeatAt } = run;
  const at = new Date(now).toISOString();
  const closed = await runs.end(
    { job: job.name, runId },
    { status: 'abandoned', reason: silence(run), at, heartbeatAt },
  );
  if (closed) telemetry.count(metric.runEnded, { job: job.name, trigger, status: 'abandoned' });
  return closed;
}

/** The runs of a job that say they are running, or why that is not known. Records are for people: a failure is counted. */
export async function runningRuns({ runs, instance }: Closing, job: Job): Promise<readonly RunRecord[]> {
  try {
    const { items } = await runs.list({ job: job.name, status: 'running', pageSize: mostRunning });
    return items;
  } catch {
    instance.telemetry.count(metric.runReportFailed, { job: job.name });
    return [];
  }
}

/** Ends the records of those runs that are abandoned. A failure is counted and changes nothing else. */
export async function closeAbandoned(
  { runs, instance }: Closing,
  job: Job,
  running: readonly RunRecord[],
): Promise<void> {
  try {
    for (const run of running) await closeRun({ runs, instance }, job, run);
  } catch {
    instance.telemetry.count(metric.runReportFailed, { job: job.name });
  }
}
