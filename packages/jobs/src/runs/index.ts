/**
 * Jobs whose work is found by looking, in groups that several processes share, each under its own lease, and
 * the records of their runs. `@payonce/jobs/runs/cosmos` keeps the records.
 */
export {
  defineJob,
  type GroupRun,
  Idle,
  type Job,
  type Processed,
  type RunCounts,
  type RunSoFar,
} from './job.ts';
export { type GroupRecord, type RunRecord, type RunStatus, runStatuses } from './runRecord.ts';
export { runScheduled, type ScheduledRun, type ScheduledRunParts } from './runScheduled.ts';
export {
  type CancelledRun,
  cancelRun,
  type EndOfRun,
  type ListRuns,
  type RunKey,
  type RunStore,
  type SilentSince,
} from './runStore.ts';
export { asShown, type RunView, runView, storedAs } from './runView.ts';
