import { randomUUID } from 'node:crypto';
import { jobLockKey, type Locks } from '@payonce/leases';
import { systemClock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { InstanceOptions } from '../instance.ts';
import { timeBudget } from '../timeBudget.ts';
import { inSpan } from '../tracing.ts';
import type { Job } from './job.ts';
import { runGroup } from './runGroup.ts';
import { newRun, statusOfGroups } from './runProgress.ts';
import type { GroupRecord, RunStatus } from './runRecord.ts';
import type { RunStore } from './runStore.ts';

/** A run has ended as failed. The platform counts failed executions by that. */
export class RunFailed extends Error {
  override readonly name = 'RunFailed';
}

export interface ScheduledRunParts {
  locks: Locks;
  runs: RunStore;
  instance: InstanceOptions;
  /** Time limit of a tick (ms); Infinity: none. Default: 9.5 minutes, as Azure Functions ends a process after 10. */
  limitMs?: number;
}

/** End of a tick of the timer. */
export interface ScheduledRun {
  runId: string;
  groups: Record<string, GroupRecord>;
}

/**
 * One tick of a job's timer: works through every group whose lease is free, side by side. The first thing to do creates the run
 * record. What is left after `limitMs` is the next tick's. @throws an error with the reason of a failed group: the platform
 * counts failed executions by that. A cancelled run has not failed.
 */
export function runScheduled(
  job: Job,
  parts: ScheduledRunParts,
  signal?: AbortSignal,
): Promise<ScheduledRun> {
  const runId = randomUUID();
  const attributes = { 'run.id': runId, 'job.name': job.name, 'run.trigger': 'timer' };
  return inSpan('run job', { attributes }, () => runTick(job, runId, parts, signal));
}

async function runTick(
  job: Job,
  runId: string,
  { locks, runs, limitMs, ...parts }: ScheduledRunParts,
  signal?: AbortSignal,
): Promise<ScheduledRun> {
  const { name, clock = systemClock, telemetry = noTelemetry } = parts.instance;
  const instance = { name, clock, telemetry };
  using budget = timeBudget(clock, signal, limitMs);
  const started = clock.monotonic();
  let created: Promise<boolean> | undefined;
  const outcomes = await Promise.all(
    job.groups.map(async (group): Promise<[string, GroupRecord]> => {
      try {
        return [group, await take(group)];
      } catch (error) {
        // If a group's lease cannot be had, the other groups go on.
        return [group, { status: 'failed', counts: {}, reason: errorText(error) }];
      }
    }),
  );
  const groups = Object.fromEntries(outcomes);
  const { status: came, reason } = statusOfGroups(Object.values(groups));
  let status: RunStatus = came;
  if (created !== undefined) {
    const at = new Date(clock.now()).toISOString();
    try {
      const key = { job: job.name, runId };
      const ended = await runs.end(key, { status, at, ...(reason === undefined ? {} : { reason }) });
      // Somebody ended it before; or this is the echo of our own end, whose answer was lost.
      if (!ended) status = (await runs.read(key.job, runId))?.status ?? status;
    } catch {
      // The record shows the run as abandoned, after a while.
      telemetry.count(partMetric.runReportFailed, { job: job.name });
    }
  }
  telemetry.count(partMetric.runEnded, { job: job.name, trigger: 'timer', status });
  for (const [group, ended] of outcomes)
    telemetry.count(partMetric.runGroupEnded, { job: job.name, group, status: ended.status });
  telemetry.record(partMetric.runMs, clock.monotonic() - started, { job: job.name });
  if (status === 'failed') throw new RunFailed(`run ${runId} of ${job.name} failed: ${reason}`);
  return { runId, groups };

  async function take(group: string): Promise<GroupRecord> {
    const owner = { instance: name, job: job.name, runId };
    await using lease = await locks.tryAcquire(jobLockKey(job.name, group), owner);
    if (lease === null) return { status: 'skipped', counts: {}, reason: 'held elsewhere' };
    const report = async (record: GroupRecord) => {
      // A group that found nothing needs no record; one that failed does.
      const idle = record.status === 'completed' && Object.keys(record.counts).length === 0;
      if (idle && created === undefined) return true;
      const at = new Date(clock.now()).toISOString();
      const run = { id: runId, job: job.name, trigger: 'timer', dryRun: false, groups: {} } as const;
      created ??= runs.create(newRun(run, at)).catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      await created;
      return runs.updateGroup({ job: job.name, runId }, group, record, new Date(clock.now()).toISOString());
    };
    return await runGroup(
      { job, group, runId, dryRun: false, lease, signal: budget.signal },
      { instance, report },
    );
  }
}
