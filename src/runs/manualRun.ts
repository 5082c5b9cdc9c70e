import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { jobLockKey, type Locks, LockTimeout } from '../locking/index.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { timeBudget } from '../platform/stopping.ts';
import { metric } from '../platform/telemetry.ts';
import type { Counts, Job } from './job.ts';
import { runGroup } from './runGroup.ts';
import {
  atLeast,
  type GroupRecord,
  groupRecordSchema,
  newRun,
  type RunRecord,
  statusOfGroups,
} from './runRecord.ts';
import type { RunStore } from './runStore.ts';

/** What the orchestration of a manual run is started with; its instance id is the run's id. */
export interface ManualRun {
  job: string;
  runId: string;
  groups: string[];
  dryRun: boolean;
  /** Nobody goes on with what it leaves: groups that were cut off or have failed are tried again. */
  untilDone?: boolean;
  /** The trace of the request for it. */
  traceparent?: string;
}

/** One group of a manual run, as its activity gets it. */
const groupTaskSchema = z.object({
  job: z.string(),
  runId: z.string(),
  group: z.string(),
  dryRun: z.boolean(),
  traceparent: z.string().exactOptional(),
});
export type GroupTask = z.infer<typeof groupTaskSchema>;

/** How long an activity waits for a lease that a run of the timer has, in milliseconds; the orchestration then waits on. */
const leaseWaitMs = 20_000;

/** The run id that an idempotency key stands for: the same key of the same job, the same run. */
export function runIdFor(job: string, idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return randomUUID();
  return createHash('sha256')
    .update(JSON.stringify([job, idempotencyKey]))
    .digest('hex')
    .slice(0, 32);
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
 * manual one that resumes this one. `given` is what the orchestration passes on. A run without a record does nothing.
 *
 * @throws {HostStopping} `signal` aborted before the group was done
 */
export async function runManualGroup(
  { jobs, locks, runs, instance }: ManualRunParts,
  given: unknown,
  signal?: AbortSignal,
): Promise<GroupRecord> {
  const { job: name, runId, group, dryRun, traceparent } = groupTaskSchema.parse(given);
  const { clock, telemetry } = instance;
  using budget = timeBudget(clock, signal);
  const job = jobNamed(jobs, name);
  // Durable's own webhook starts orchestrations, too, for whoever has its key.
  const asked = await runs.read(name, runId);
  if (asked?.groups[group] === undefined || asked.dryRun !== dryRun) {
    const reason = 'it is not on record: expected a run that was asked for through ops';
    instance.log(`group ${group} of run ${runId} of ${name} is refused: ${reason}`);
    return { status: 'failed', counts: {}, reason };
  }
  const report = (record: GroupRecord) =>
    runs.updateGroup({ job: name, runId }, group, record, new Date(clock.now()).toISOString());
  // A dry run repeats all of its work, and counts it again.
  const countedBefore = async (): Promise<Counts> =>
    dryRun ? {} : countsOf(job, { runs, telemetry }, { runId, group });
  try {
    await using lease = await locks.acquire(
      jobLockKey(name, group),
      { instance: instance.name, job: name, runId },
      { waitMs: leaseWaitMs, signal: budget.signal },
    );
    const told = job.keepsPiece === true ? await runs.read(name, runId) : undefined;
    // Counted under the lease: an earlier holder counts nothing any more.
    const before = dryRun ? {} : { ...told?.groups[group], counts: await countedBefore() };
    const options = {
      signal: budget.signal,
      request: told?.request,
      before,
      resumable: !dryRun,
      traceparent,
    };
    const record = await runGroup({ job, group, runId, dryRun, lease, ...options }, { instance, report });
    if (signal?.aborted === true && (record.status === 'failed' || record.status === 'lost')) {
      throw new HostStopping();
    }
    return record;
  } catch (error) {
    if (signal?.aborted === true) throw new HostStopping({ cause: error });
    if (!(error instanceof LockTimeout)) throw error;
    // If the lock store failed, nobody may have the lease, and a group that waits for it would hide that.
    const counts = await countedBefore();
    const record: GroupRecord =
      error.cause === undefined
        ? { status: 'skipped', counts, reason: 'held elsewhere' }
        : { status: 'failed', counts, reason: errorText(error.cause) };
    await tell(record).catch(() => telemetry.count(metric.runReportFailed, { job: name }));
    return record;
  }

  /** Where a piece may be in hand the record stays as it is, and only shows a sign of life. */
  async function tell(record: GroupRecord): Promise<void> {
    const told = job.keepsPiece === true ? (await runs.read(name, runId))?.groups[group] : undefined;
    await report(told ?? record);
  }
}

/** A group of a manual run was cut short because its host is stopping. Another host has to go on with it. */
export class HostStopping extends Error {
  override readonly name = 'HostStopping';
  constructor(options?: ErrorOptions) {
    super('the host is stopping', options);
  }
}

/**
 * No answer to a group that was cut short because the host is stopping: as after a crash, Durable Functions hands it to
 * another host. A failure would end the group.
 */
export async function answerUnlessStopping<T>(group: Promise<T>): Promise<T> {
  try {
    return await group;
  } catch (error) {
    if (!(error instanceof HostStopping)) throw error;
    return new Promise<never>(() => {});
  }
}

/**
 * What the run has done in a group before: in a process that died, or whose answer was lost. The record may lack what came
 * after its last report; the job knows better if it keeps count with its work.
 */
async function countsOf(
  job: Job,
  { runs, telemetry }: Pick<ManualRunParts, 'runs'> & Pick<Instance, 'telemetry'>,
  { runId, group }: { runId: string; group: string },
): Promise<Counts> {
  try {
    const known = (await runs.read(job.name, runId))?.groups[group];
    if (known === undefined || known.status === 'pending') return {};
    return atLeast(known.counts, (await job.done?.(group, runId, { resumes: true })) ?? {});
  } catch {
    // Records are for people: the work is done without them too.
    telemetry.count(metric.runReportFailed, { job: job.name });
    return {};
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
