/**
 * Runs whose process has died. Nobody is left to say so, so their last sign of life does:
 *
 *   running ──no sign of life for too long──► shown as abandoned at once ──the next run of the job──► stored as ended
 *
 * A run that was only slow or cut off from the store learns at its next report that it was ended, and stops; the run that
 * follows does the rest. What it had done after its last report is counted when its groups are taken over, or when it is
 * closed.
 */
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import type { Job } from './job.ts';
import { atLeast, type GroupRecord, groupsOf, isOpen, type RunRecord, type RunStatus } from './runRecord.ts';
import type { RunStore, SilentSince } from './runStore.ts';

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
  if (!isAbandoned(record, now)) return record;
  const ended: RunRecord = { ...record, status: 'abandoned', reason: silence(record) };
  return { ...ended, groups: groupsOf(ended) };
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
  for (const group of Object.keys(run.groups)) await countTakenOver({ runs, instance }, job, group, run);
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

/**
 * Records what a run of the timer had done in a group whose lease it no longer has, if its process died before it reported:
 * the job has counted that with the work. Called under the lease of the group before anything else is done in it, since
 * what follows is counted in the same place; or when the run is closed. The sign of life stays as it was.
 *
 * A manual run is resumed by another process, which counts on by itself.
 */
export async function countTakenOver(
  { runs, instance }: Closing,
  job: Job,
  group: string,
  { id: runId, trigger, groups }: Pick<RunRecord, 'id' | 'trigger' | 'groups'>,
): Promise<void> {
  const before = groups[group];
  if (job.done === undefined || trigger !== 'timer' || before === undefined || !isOpen(before)) return;
  try {
    const counted = await job.done(group, runId);
    const now = await runs.read(job.name, runId);
    const known = now?.groups[group];
    // It may have said meanwhile how it ended; only closing its run may have been quicker.
    if (now === undefined || known === undefined) return;
    if (!isOpen(known) && !(known.status === 'lost' && now.status === 'abandoned')) return;
    const record: GroupRecord = {
      ...known,
      status: 'lost',
      counts: atLeast(known.counts, counted),
      reason: 'its process died, or was cut off',
    };
    await runs.updateGroup({ job: job.name, runId }, group, record, now.heartbeatAt);
  } catch {
    instance.telemetry.count(metric.runReportFailed, { job: job.name });
  }
}
