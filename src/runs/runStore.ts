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
  /** Records how a group stands; also the run's sign of life. False if the run has ended meanwhile. */
  updateGroup(run: RunKey, group: string, record: GroupRecord, at: string): Promise<boolean>;
  /** Ends a run. False if it has ended already. */
  end(run: RunKey, end: { status: RunStatus; reason?: string; at: string }): Promise<boolean>;
}

export interface RunKey {
  job: string;
  runId: string;
}

export interface ListRuns {
  job: string;
  /** Absent: all of them. */
  status?: RunStatus;
  continuation?: string;
  pageSize: number;
}
