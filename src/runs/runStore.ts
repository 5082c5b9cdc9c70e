import type { Page } from '../documents/pages.ts';
import type { GroupRecord, RunRecord, RunStatus } from './runRecord.ts';

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
  /** Ends a run, and with it the groups that have not said how they ended. False if it has ended already. */
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
