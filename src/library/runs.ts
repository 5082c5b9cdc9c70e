/**
 * `payonce/runs`: jobs whose work is found by looking, in groups that several processes share, each under its own lease, and
 * the records of their runs. `payonce/runs/cosmos` keeps the records.
 */
export { asShown } from '../runs/abandoned.ts';
export { type CancelledRun, cancelRun } from '../runs/cancelRun.ts';
export {
  type Counts,
  defineJob,
  type GroupRun,
  type Job,
  Pause,
  type Processed,
} from '../runs/job.ts';
export {
  type GroupRecord,
  type RunRecord,
  type RunStatus,
  type RunView,
  runView,
} from '../runs/runRecord.ts';
export { runScheduled, type ScheduledRun, type ScheduledRunParts } from '../runs/runScheduled.ts';
export type { EndOfRun, ListRuns, RunKey, RunStore, SilentSince } from '../runs/runStore.ts';
