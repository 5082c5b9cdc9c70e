import { isDeepStrictEqual } from 'node:util';
import type { Instance } from '../platform/instance.ts';
import { activeTrace, inSpan } from '../platform/tracing.ts';
import { asShown, closeAbandoned, closeRun, isAbandoned, runningRuns } from './abandoned.ts';
import type { Job } from './job.ts';
import { type ManualRun, newManualRun, runIdFor } from './manualRun.ts';
import { runJobOrchestrator } from './orchestrateRun.ts';
import type { RunRecord, RunStatus } from './runRecord.ts';
import type { RunStore } from './runStore.ts';

/** What runs need of the Durable Functions client. */
export interface Orchestrations {
  startNew(orchestratorName: string, options: { instanceId: string; input: unknown }): Promise<string>;
  /** Rejects if there is no such instance. */
  getStatus(instanceId: string): Promise<unknown>;
  /** Schedules nothing more; an activity that is under way goes on. Rejects if there is no such instance. */
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
  /** What is asked for, of a job that takes a request. Nobody goes on with such a run, so it is tried until it is done. */
  request?: RunRecord['request'];
}

export type StartedRun =
  /** `created`: this call did; otherwise an earlier one with the same key had. */
  | { kind: 'started'; runId: string; groups: readonly string[]; status: RunStatus; created: boolean }
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
  const running = await runningRuns({ runs, instance }, job);
  await closeAbandoned({ runs, instance }, job, running);
  const runId = runIdFor(job.name, request.idempotencyKey);
  const open = running.filter((run) => run.id !== runId && !isAbandoned(run, clock.now())).length;
  const plain: ManualRun = { job: job.name, runId, groups, dryRun, ...activeTrace() };
  const run = asked === undefined ? plain : { ...plain, untilDone: true };
  const at = new Date(clock.now()).toISOString();
  const record = { ...newManualRun(run, at, asked), ...(resume === undefined ? {} : { resumes: resume }) };
  const isFull = open >= (request.mostOpen ?? Number.POSITIVE_INFINITY);
  if (isFull && (await runs.read(job.name, runId)) === undefined) return { kind: 'tooManyOpen', open };
  const created = await runs.create(record);
  const stored = created ? record : await runs.read(job.name, runId);
  if (stored !== undefined && !isSameRequest(stored, record)) return { kind: 'otherRequest', runId };
  // Even if the record was there: the process that created it may have died before this.
  if (stored?.status === 'running') await ensureStarted(orchestrations, run);
  const { status } = asShown(stored ?? record, clock.now());
  return { kind: 'started', runId, groups, status, created };
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
  const ended = before.status !== 'running' || (await closeRun({ runs, instance }, job, before));
  if (!ended) return badResume(`run "${resume}" has not ended`);
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
