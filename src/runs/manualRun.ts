import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Locks, LockTimeout } from '../locking/index.ts';
import type { Clock } from '../platform/clock.ts';
import { errorText } from '../platform/errorText.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import { timeBudget } from '../platform/timeBudget.ts';
import { groupLockKey, type Job } from './job.ts';
import { runGroup } from './runGroup.ts';
import { type GroupRecord, type RunRecord, statusOfGroups } from './runRecord.ts';
import type { RunStore } from './runStore.ts';

/** What the orchestration of a manual run is started with; its instance id is the run's id. */
export const manualRunSchema = z.strictObject({
  job: z.string(),
  runId: z.string(),
  groups: z.array(z.string()).min(1),
  dryRun: z.boolean(),
});
export type ManualRun = z.infer<typeof manualRunSchema>;

/** One group of a manual run, as its activity gets it. */
export const groupTaskSchema = z.strictObject({
  job: z.string(),
  runId: z.string(),
  group: z.string(),
  dryRun: z.boolean(),
});
export type GroupTask = z.infer<typeof groupTaskSchema>;

/** How long an activity waits for a lease that the timer's run has, in milliseconds; the orchestration then waits on. */
const leaseWaitMs = 20_000;

/** The run id that an idempotency key stands for: the same key, the same run. */
export function runIdFor(idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return randomUUID();
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32);
}

/** The record of a manual run that begins at `at` (ISO 8601). */
export function newManualRun({ job, runId, groups, dryRun }: ManualRun, at: string): RunRecord {
  return {
    id: runId,
    job,
    trigger: 'manual',
    status: 'running',
    dryRun,
    startedAt: at,
    heartbeatAt: at,
    groups: Object.fromEntries(groups.map((group) => [group, { status: 'pending', counts: {} }])),
  };
}

export interface ManualRunDependencies {
  jobs: readonly Job[];
  locks: Locks;
  runs: RunStore;
  clock: Clock;
  telemetry: Telemetry;
  instance: string;
}

/**
 * The activity of a manual run: one group, under the same lease as the timer's. `skipped` means that the lease was held
 * elsewhere for the whole wait; `partial`, that the time of one activity was up: the timer's next run goes on, or a manual
 * one that resumes this.
 */
export async function runManualGroup(
  { jobs, locks, runs, clock, telemetry, instance }: ManualRunDependencies,
  { job: name, runId, group, dryRun }: GroupTask,
  signal?: AbortSignal,
): Promise<GroupRecord> {
  using budget = timeBudget(clock, signal);
  const job = jobNamed(jobs, name);
  const report = (record: GroupRecord) =>
    runs.updateGroup({ job: name, runId }, group, record, new Date(clock.now()).toISOString());
  try {
    await using lease = await locks.acquire(
      groupLockKey(name, group),
      { instance, job: name, runId },
      { waitMs: leaseWaitMs, signal: budget.signal },
    );
    return await runGroup(
      { job, group, runId, dryRun, lease, by: instance, signal: budget.signal },
      { clock, telemetry, report },
    );
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    // Nobody has the lease where the lock store failed, and a group that waits for it would hide that.
    const record: GroupRecord =
      error.cause === undefined
        ? { status: 'skipped', counts: {}, reason: 'held elsewhere' }
        : { status: 'failed', counts: {}, reason: errorText(error.cause) };
    await report(record).catch(() => telemetry.count(metric.runReportFailed, { job: name }));
    return record;
  }
}

/** The last activity of a manual run: writes down how it ended, unless that has been done: it may have been cancelled. */
export async function endManualRun(
  { runs, clock, telemetry }: ManualRunDependencies,
  { job, runId, groups }: { job: string; runId: string; groups: readonly GroupRecord[] },
): Promise<void> {
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
