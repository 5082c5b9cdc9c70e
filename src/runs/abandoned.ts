/**
 * Runs whose process has died. Nobody is left to say so, so their last sign of life does:
 *
 *   running ──no sign of life for too long──► shown as abandoned at once ──the next run of the job──► stored as ended
 *
 * A run that was only slow or cut off from the store learns at its next report that it was ended, and stops; the run that
 * follows does the rest. In the store it is a failed run with the mark `abandoned`, because releases up to 0.2.0 know no such
 * status.
 */
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import { groupsOf, type RunRecord, type RunStatus } from './runRecord.ts';
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
  if (isAbandoned(record, now)) return shown({ ...record, reason: silence(record) });
  return record.abandoned === true ? shown(record) : record;
}

/** What the store looks for, to find the runs that are shown with this status at `now` (milliseconds). Pure. */
export function storedAs(status: RunStatus, now: number): { status: RunStatus; silentSince?: SilentSince } {
  if (status !== 'running' && status !== 'abandoned') return { status };
  const before = (trigger: RunRecord['trigger']) => new Date(now - silentMs[trigger]).toISOString();
  return { status, silentSince: { timer: before('timer'), manual: before('manual') } };
}

function shown(record: RunRecord): RunRecord {
  const ended: RunRecord = { ...record, status: 'abandoned' };
  return { ...ended, groups: groupsOf(ended) };
}

function silence({ heartbeatAt }: Pick<RunRecord, 'heartbeatAt'>): string {
  return `no sign of life since ${heartbeatAt}`;
}

interface Closing {
  runs: RunStore;
  instance: Pick<Instance, 'clock' | 'telemetry'>;
}

/** Ends the record of an abandoned run; false if it is none, or has given a sign of life since it was read. */
export async function closeRun({ runs, instance }: Closing, run: RunRecord): Promise<boolean> {
  const { clock, telemetry } = instance;
  const now = clock.now();
  if (!isAbandoned(run, now)) return false;
  const { job, id: runId, trigger, heartbeatAt } = run;
  const at = new Date(now).toISOString();
  const closed = await runs.end(
    { job, runId },
    { status: 'abandoned', reason: silence(run), at, heartbeatAt },
  );
  if (closed) telemetry.count(metric.runEnded, { job, trigger, status: 'abandoned' });
  return closed;
}

/** Ends the records of all abandoned runs of a job. Records are for people: a failure is counted and changes nothing else. */
export async function closeAbandoned({ runs, instance }: Closing, job: string): Promise<void> {
  try {
    const { items } = await runs.list({ job, status: 'running', pageSize: mostRunning });
    for (const run of items) await closeRun({ runs, instance }, run);
  } catch {
    instance.telemetry.count(metric.runReportFailed, { job });
  }
}
