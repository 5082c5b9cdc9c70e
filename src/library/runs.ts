/**
 * `payonce/runs`: jobs whose work is found by looking, in groups that several processes share, each under its own lease, and
 * the records of their runs. `payonce/runs/cosmos` keeps the records.
 */

export {
  defineJob,
  type GroupRun,
  Halt,
  Idle,
  type Job,
  type Processed,
  type RunCounts,
} from '../runs/job.ts';
export { type CancelledRun, cancelRun } from '../runs/manualRun.ts';
export type { EndOfRun, ListRuns, RunKey, RunStore, SilentSince } from '../runs/runRecord.ts';
export {
  asShown,
  type GroupRecord,
  type RunRecord,
  type RunStatus,
  type RunView,
  runView,
} from '../runs/runRecord.ts';
export { runScheduled, type ScheduledRun, type ScheduledRunParts } from '../runs/runScheduled.ts';
