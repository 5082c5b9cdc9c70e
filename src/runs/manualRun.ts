import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jobLockKey, type Locks, LockTimeout } from '../locking/index.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { timeBudget } from '../platform/stopping.ts';
import { metric } from '../platform/telemetry.ts';
import type { Job } from './job.ts';
import { runGroup } from './runGroup.ts';
import { type GroupRecord, groupRecordSchema, newRun, type RunRecord, statusOfGroups } from './runRecord.ts';
import type { RunStore } from './runStore.ts';

/** What the orchestration of a manual run is started with; its instance id is the run's id. */
export interface ManualRun {
  job: string;
  runId: string;
  groups: string[];
  dryRun: boolean;
  /** Nobody goes on with what it leaves: groups that were cut off or have failed are tried again. */
  untilDone?: boolean;
}

/** One group of a manual run, as its activity gets it. */
const groupTaskSchema = z.object({
  job: z.string(),
  runId: z.string(),
  group: z.string(),
  dryRun: z.boolean(),
});
export type GroupTask = z.infer<typeof groupTaskSchema>;

/** How long an activity waits for a lease that a run of the timer has, in milliseconds; the orchestration then waits on. */
const leaseWaitMs = 20_000;

/** The run id that an idempotency key stands for: the same key, the same run. */
export function runIdFor(idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return randomUUID();
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32);
}

/** The record of a manual run that begins at `at` (ISO 8601), with what was asked for if its job takes a request. */
export function newManualRun(
  { job, runId, groups: names, dryRun }: ManualRun,
  at: string,
  request?: RunRecord['request'],
): RunRecord {
  const groups = Object.fromEntries(
    names.map((group) => [group, { status: 'pending', counts: {} } as const]),
  );
  const asked = request === undefined ? {} : { request };
  return newRun({ id: runId, job, trigger: 'manual', dryRun, groups, ...asked }, at);
}

/** The end of a manual run, as its last activity gets it. */
const endOfRunSchema = z.object({
  job: z.string(),
  runId: z.string(),
  groups: z.array(groupRecordSchema),
});

export interface ManualRunParts {
  jobs: readonly Job[];
  locks: Locks;
  runs: RunStore;
  instance: Instance;
}

/**
 * The activity of a manual run: one group, under the same lease as a run of the timer. `skipped` means that the lease was
 * held elsewhere for the whole wait; `partial`, that the time of one activity was up: the timer's next run goes on, or a
 * manual one that resumes this one. `given` is what the orchestration passes on.
 */
export async function runManualGroup(
  { jobs, locks, runs, instance }: ManualRunParts,
  given: unknown,
  signal?: AbortSignal,
): Promise<GroupRecord> {
  const { job: name, runId, group, dryRun } = groupTaskSchema.parse(given);
  const { clock, telemetry } = instance;
  using budget = timeBudget(clock, signal);
  const job = jobNamed(jobs, name);
  const report = (record: GroupRecord) =>
    runs.updateGroup({ job: name, runId }, group, record, new Date(clock.now()).toISOString());
  try {
    await using lease = await locks.acquire(
      jobLockKey(name, group),
      { instance: instance.name, job: name, runId },
      { waitMs: leaseWaitMs, signal: budget.signal },
    );
    const told = job.keepsPiece === true ? await runs.read(name, runId) : undefined;
    const before = dryRun ? {} : (told?.groups[group] ?? {});
    const task = { job, group, runId, dryRun, lease, signal: budget.signal, request: told?.request, before };
    return await runGroup(task, { instance, report });
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    // If the lock store failed, nobody may have the lease, and a group that waits for it would hide that.
    const record: GroupRecord =
      error.cause === undefined
        ? { status: 'skipped', counts: {}, reason: 'held elsewhere' }
        : { status: 'failed', counts: {}, reason: errorText(error.cause) };
    await tell(record).catch(() => telemetry.count(metric.runReportFailed, { job: name }));
    return record;
  }

  /** Where a piece may be in hand the record stays as it is, and only shows a sign of life. */
  async function tell(record: GroupRecord): Promise<void> {
    const told = job.keepsPiece === true ? (await runs.read(name, runId))?.groups[group] : undefined;
    await report(told ?? record);
  }
}

/** The last activity of a manual run: records how it ended, unless it was cancelled before. */
export async function endManualRun(
  { runs, instance: { clock, telemetry } }: Pick<ManualRunParts, 'runs' | 'instance'>,
  end: unknown,
): Promise<void> {
  const { job, runId, groups } = endOfRunSchema.parse(end);
  const { status, reason } = statusOfGroups(groups);
  const at = new Date(clock.now()).toISOString();
  const ended = await runs.end({ job, runId }, { status, at, ...(reason === undefined ? {} : { reason }) });
  if (ended) telemetry.count(metric.runEnded, { job, trigger: 'manual', status });
}

function jobNamed(jobs: readonly Job[], name: string): Job {
  const job = jobs.find((candidate) => candidate.name === name);
  if (job === undefined) throw new Error(`no job is called ${name}`);
  return job;
}
