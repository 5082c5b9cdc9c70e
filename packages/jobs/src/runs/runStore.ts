import { systemClock } from '@payonce/leases/clock';
import { noTelemetry, partMetric } from '@payonce/leases/telemetry';
import type { Page } from '../documents/pages.ts';
import type { Instance } from '../instance.ts';
import type { GroupRecord, RunRecord, RunStatus } from './runRecord.ts';
import { asShown } from './runView.ts';

/** Keeps run records. All methods may reject with `StoreAway`. */
export interface RunStore {
  /** Creates a record; false if there is one with this id. */
  create(record: RunRecord): Promise<boolean>;
  /** @throws {NewerVersion} */
  read(job: string, runId: string): Promise<RunRecord | undefined>;
  /** One page of the runs of a job, or of all jobs, newest first. @throws {BadContinuation} */
  list(query: ListRuns): Promise<Page<RunRecord>>;
  /**
   * Records how a group stands; also the run's sign of life. False if the run has ended meanwhile; then the group is still
   * recorded if it is over. A record with a smaller fence than the stored one changes nothing, and the answer is false.
   */
  updateGroup(run: RunKey, group: string, record: GroupRecord, at: string): Promise<boolean>;
  /** Ends a run; its open groups are shown as ended (runView.ts). False if it has ended already. */
  end(run: RunKey, end: EndOfRun): Promise<boolean>;
}

export interface EndOfRun {
  status: Exclude<RunStatus, 'running' | 'abandoned'>;
  reason?: string;
  /** ISO 8601. */
  at: string;
}

export interface RunKey {
  job: string;
  runId: string;
}

export interface ListRuns {
  /** Absent: of all jobs. */
  job?: string;
  /** Absent: all of them. */
  status?: RunStatus;
  /** A running run whose last sign of life is older counts as abandoned. Absent: none does. */
  silentSince?: SilentSince;
  continuation?: string;
  pageSize: number;
}

/** Times (ISO 8601, UTC), by what started a run. */
export type SilentSince = Readonly<Record<RunRecord['trigger'], string>>;

export type CancelledRun =
  | { kind: 'cancelled'; run: RunRecord }
  | { kind: 'notFound' }
  | { kind: 'ended'; status: RunStatus };

/** Ends a running run through its record. Its groups stop before their next piece of work. */
export async function cancelRun(
  {
    runs,
    instance: { clock = systemClock, telemetry = noTelemetry } = {},
  }: { runs: RunStore; instance?: Partial<Pick<Instance, 'clock' | 'telemetry'>> },
  key: RunKey,
  reason: string,
): Promise<CancelledRun> {
  const run = await runs.read(key.job, key.runId);
  if (run === undefined) return { kind: 'notFound' };
  if (run.status !== 'running') return { kind: 'ended', status: asShown(run, clock.now()).status };
  const at = new Date(clock.now()).toISOString();
  const ended = await runs.end(key, { status: 'cancelled', reason, at });
  const after = (await runs.read(key.job, key.runId)) ?? run;
  if (!ended) return { kind: 'ended', status: after.status };
  // A run of the timer counts itself when it stops; a manual one is stopped from outside.
  const { job, trigger } = after;
  if (trigger === 'manual') telemetry.count(partMetric.runEnded, { job, trigger, status: 'cancelled' });
  return { kind: 'cancelled', run: after };
}
