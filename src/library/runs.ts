/**
 * `payonce/runs`: jobs whose work is found by looking, in groups that several processes share, each under its own lease, and
 * the records of their runs. `payonce/runs/cosmos` keeps the records.
 */

export {
  defineJob,
  type GroupRun,
  Idle,
  type Job,
  type Processed,
  type RunCounts,
} from '../runs/job.ts';
export type { GroupRecord, RunRecord, RunStatus } from '../runs/runRecord.ts';
export { runScheduled, type ScheduledRun, type ScheduledRunParts } from '../runs/runScheduled.ts';
export {
  asShown,
  type CancelledRun,
  cancelRun,
  type EndOfRun,
  type ListRuns,
  type RunKey,
  type RunStore,
  type RunView,
  runView,
  type SilentSince,
} from '../runs/runStore.ts';
