import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { jobLockKey, type Locks, LockTimeout } from '@payonce/leases';
import { errorText } from '@payonce/leases/error-text';
import { partMetric } from '@payonce/leases/telemetry';
import { z } from 'zod';
import type { Instance } from '../instance.ts';
import { timeBudget } from '../timeBudget.ts';
import { activeTrace, inSpan } from '../tracing.ts';
import type { Job, RunCounts } from './job.ts';
import { runJobOrchestrator } from './orchestrateRun.ts';
import { runGroup } from './runGroup.ts';
import { newRun, statusOfGroups } from './runProgress.ts';
import { type GroupRecord, groupRecordSchema, type RunRecord, type RunStatus } from './runRecord.ts';
import type { RunStore } from './runStore.ts';
import { asShown, storedAs } from './runView.ts';

/** The part of the Durable Functions client that runs need. */
export interface Orchestrations {
  startNew(orchestratorName: string, options: { instanceId: string; input: unknown }): Promise<string>;
  /** Rejects if there is no such instance. */
  getStatus(instanceId: string): Promise<unknown>;
  /** Schedules nothing more; a running activity goes on. Rejects if there is no such instance. */
  terminate(instanceId: string, reason: string): Promise<unknown>;
}

/** A person's request for a run. */
export interface RunRequest {
  dryRun: boolean;
  /** Absent: all of the job's groups. */
  groups?: readonly string[] | undefined;
  /** Id of an ended or abandoned run whose unfinished groups are to be done now. */
  resume?: string | undefined;
  idempotencyKey?: string | undefined;
  /** Running runs of the job beside which another is begun, at most. Absent: any number. */
  mostOpen?: number;
  /** The request, of a job that takes one. Nobody goes on with such a run, so it is tried until it is done. */
  request?: RunRecord['request'];
}

export type StartedRun =
  /** `startedAt`: by this call, or by an earlier one with the same key. */
  | { kind: 'started'; runId: string; groups: readonly string[]; status: RunStatus; startedAt: string }
  /** The idempotency key stands for a run with another request. */
  | { kind: 'otherRequest'; runId: string }
  | { kind: 'tooManyOpen'; open: number }
  | { kind: 'bad'; field: 'groups' | 'resume'; error: string };

interface StartRunParts {
  job: Job;
  runs: RunStore;
  orchestrations: Orchestrations;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

/** Starts a manual run of a job. The same idempotency key stands for the same run, however often it is sent. */
export function startRun(parts: StartRunParts, request: RunRequest): Promise<StartedRun> {
  const attributes = { 'job.name': parts.job.name, 'run.trigger': 'manual' };
  return inSpan(
    'start run',
    { attributes },
    () => start(parts, request),
    (started) =>
      started.kind === 'started' ? { attributes: { 'run.id': started.runId } } : { failed: started.kind },
  );
}

async function start(
  { job, runs, orchestrations, instance }: StartRunParts,
  request: RunRequest,
): Promise<StartedRun> {
  const { dryRun, request: asked, resume } = request;
  const { clock } = instance;
  const chosen = await chooseGroups(job, { runs, instance }, request);
  if (chosen.kind === 'bad') return chosen;
  const { groups } = chosen;
  const runId = runIdFor(job.name, request.idempotencyKey);
  const plain: ManualRun = { job: job.name, runId, groups, dryRun, ...activeTrace() };
  const run = asked === undefined ? plain : { ...plain, untilDone: true };
  const at = new Date(clock.now()).toISOString();
  const record = { ...newManualRun(run, at, asked), ...(resume === undefined ? {} : { resumes: resume }) };
  const open = await openBeside();
  const isFull = open >= (request.mostOpen ?? Number.POSITIVE_INFINITY);
  if (isFull && (await runs.read(job.name, runId)) === undefined) return { kind: 'tooManyOpen', open };
  const created = await runs.create(record);
  const stored = created ? record : await runs.read(job.name, runId);
  if (stored !== undefined && !isSameRequest(stored, record)) return { kind: 'otherRequest', runId };
  // Even if the record was there: the process that created it may have died before this.
  if (stored?.status === 'running') await ensureStarted(orchestrations, run);
  const { status, startedAt } = asShown(stored ?? record, clock.now());
  return { kind: 'started', runId, groups, status, startedAt };

  /** Other runs of the job that are at work; 0 if the store does not say. Only `mostOpen` needs them. */
  async function openBeside(): Promise<number> {
    if (request.mostOpen === undefined) return 0;
    try {
      const running = storedAs('running', clock.now());
      const { items } = await runs.list({ job: job.name, ...running, pageSize: 100 });
      return items.filter(({ id }) => id !== runId).length;
    } catch {
      instance.telemetry.count(partMetric.runReportFailed, { job: job.name });
      return 0;
    }
  }
}

async function chooseGroups(
  job: Job,
  { runs, instance }: { runs: RunStore; instance: Pick<Instance, 'clock' | 'telemetry'> },
  { groups, resume }: RunRequest,
): Promise<{ kind: 'groups'; groups: string[] } | Extract<StartedRun, { kind: 'bad' }>> {
  const unknown = groups?.find((group) => !job.groups.includes(group));
  if (unknown !== undefined) {
    const error = `expected some of ${job.groups.join(', ')}, got "${unknown}"`;
    return { kind: 'bad', field: 'groups', error };
  }
  if (resume === undefined) return { kind: 'groups', groups: [...(groups ?? job.groups)] };
  const before = await runs.read(job.name, resume);
  if (before === undefined) return badResume(`there is no run "${resume}" of ${job.name}`);
  if (asShown(before, instance.clock.now()).status === 'running')
    return badResume(`run "${resume}" has not ended`);
  const unfinished = Object.entries(before.groups).filter(([, { status }]) => status !== 'completed');
  // A process that died right after it had created the record said nothing of any group.
  const some = Object.keys(before.groups).length === 0 ? job.groups : unfinished.map(([group]) => group);
  const names = some.filter((group) => groups?.includes(group) ?? true);
  if (names.length === 0) return badResume(`run "${resume}" has no unfinished group`);
  return { kind: 'groups', groups: names };
}

function badResume(error: string): Extract<StartedRun, { kind: 'bad' }> {
  return { kind: 'bad', field: 'resume', error };
}

/** Starts the orchestration of a run unless it is there; of two callers at the same time one starts it. */
async function ensureStarted(orchestrations: Orchestrations, run: ManualRun): Promise<void> {
  const isThere = () =>
    orchestrations.getStatus(run.runId).then(
      () => true,
      () => false,
    );
  if (await isThere()) return;
  try {
    await orchestrations.startNew(runJobOrchestrator, { instanceId: run.runId, input: run });
  } catch (error) {
    if (!(await isThere())) throw error;
  }
}

function isSameRequest(one: RunRecord, other: RunRecord): boolean {
  const of = ({ groups, ...run }: RunRecord) => [
    Object.keys(groups).toSorted(),
    run.dryRun,
    run.request,
    run.resumes,
  ];
  return isDeepStrictEqual(of(one), of(other));
}

/** Input of the orchestration of a manual run; its instance id is the run's id. */
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

/** Wait of an activity for a lease that a run of the timer has (ms); the orchestration then waits on. */
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
const endOfRunSchema = z.object({ job: z.string(), runId: z.string(), groups: z.array(groupRecordSchema) });

export interface ManualRunParts {
  jobs: readonly Job[];
  locks: Locks;
  runs: RunStore;
  instance: Instance;
}

/**
 * The activity of a manual run: one group, under the same lease as a run of the timer. `skipped`: the lease was held elsewhere for
 * the whole wait; `partial`: the time of one activity was up, and the timer or a manual run resumes it. `given` is what the
 * orchestration passes on. A run without a record does nothing.
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
  try {
    await using lease = await locks.acquire(
      jobLockKey(name, group),
      { instance: instance.name, job: name, runId },
      { waitMs: leaseWaitMs, signal: budget.signal },
    );
    const told = job.keepsPiece === true ? await runs.read(name, runId) : undefined;
    // Counted under the lease: an earlier holder counts nothing any more.
    const before = dryRun ? {} : (told?.groups[group] ?? { counts: await countedBefore() });
    const options = { signal: budget.signal, request: told?.request, before, traceparent };
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
    await tell(record).catch(() => telemetry.count(partMetric.runReportFailed, { job: name }));
    return record;
  }

  /** Counts of the group's last report: by a process that died, or whose answer was lost. */
  async function countedBefore(): Promise<RunCounts> {
    // A dry run repeats all of its work, and counts it again.
    if (dryRun) return {};
    try {
      return (await runs.read(name, runId))?.groups[group]?.counts ?? {};
    } catch {
      // Records are for people: the work is done without them too.
      telemetry.count(partMetric.runReportFailed, { job: name });
      return {};
    }
  }

  /** Shows a sign of life. The record of a piece in hand stays as it is. */
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

/** Gives no answer to a group that a stopping host cut short: Durable Functions hands it on, and a failure would end it. */
export async function answerUnlessStopping<T>(group: Promise<T>): Promise<T> {
  try {
    return await group;
  } catch (error) {
    if (!(error instanceof HostStopping)) throw error;
    return new Promise<never>(() => {});
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
  if (ended) telemetry.count(partMetric.runEnded, { job, trigger: 'manual', status });
}

function jobNamed(jobs: readonly Job[], name: string): Job {
  const job = jobs.find((candidate) => candidate.name === name);
  if (job === undefined) throw new Error(`no job is called ${name}`);
  return job;
}
