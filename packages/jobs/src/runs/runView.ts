import { traceIdOf } from '../tracing.ts';
import type { RunCounts } from './job.ts';
import { addCounts, isOpen } from './runProgress.ts';
import type { GroupRecord, RunRecord, RunStatus } from './runRecord.ts';
import type { SilentSince } from './runStore.ts';

/** A run as the outside sees it. `traceId`: 32 hex digits, if the run was traced. */
export function runView(record: RunRecord) {
  const { id, completedAt = null, lockOwner = null, fence = null, reason = null, request = null } = record;
  const { job, trigger, status, dryRun, startedAt, heartbeatAt } = record;
  const groups = groupsOf(record);
  const counts = Object.values(groups).reduce<RunCounts>((sum, group) => addCounts(sum, group.counts), {});
  return {
    runId: id,
    job,
    trigger,
    status,
    dryRun,
    startedAt,
    completedAt,
    heartbeatAt,
    lockOwner,
    fence,
    counts,
    // Without the piece in hand, which is for the run that continues.
    groups: Object.fromEntries(
      Object.entries(groups).map(([name, { inHand: _, ...group }]) => [name, group]),
    ),
    request,
    traceId: traceIdOf(record.traceparent) ?? null,
    reason,
  };
}

export type RunView = ReturnType<typeof runView>;

/** The groups of a run as they stand; once the run has ended, none of them is still open. */
function groupsOf({ status, groups }: Pick<RunRecord, 'status' | 'groups'>): RunRecord['groups'] {
  if (status === 'running') return groups;
  const closed = Object.entries(groups).map(([name, group]) => [name, isOpen(group) ? close(group) : group]);
  return Object.fromEntries(closed);

  function close(group: GroupRecord): GroupRecord {
    if (status === 'abandoned') {
      return { ...group, status: 'lost', reason: 'its process died, or was cut off' };
    }
    return group.status === 'pending'
      ? { ...group, status: 'skipped', reason: `its turn had not come when the run was ${status}` }
      : { ...group, status: 'failed', reason: `it had not ended when the run was ${status}` };
  }
}

/** The run as people should see it at `now` (milliseconds), whether somebody has closed its record yet or not. Pure. */
export function asShown(record: RunRecord, now: number): RunRecord {
  const shown: RunRecord = isAbandoned(record, now)
    ? { ...record, status: 'abandoned', reason: `no sign of life since ${record.heartbeatAt}` }
    : record;
  return { ...shown, groups: groupsOf(shown) };
}

/** The query that finds the runs shown with this status at `now` (milliseconds). Pure. */
export function storedAs(status: RunStatus, now: number): { status: RunStatus; silentSince?: SilentSince } {
  if (status !== 'running' && status !== 'abandoned') return { status };
  const before = (trigger: RunRecord['trigger']) => new Date(now - silentMs[trigger]).toISOString();
  return { status, silentSince: { timer: before('timer'), manual: before('manual') } };
}

/**
 * Silence of a run (ms) after which it is shown as abandoned. A run reports every two seconds. Durable Functions hands the
 * groups of a manual one to another host within five minutes (`workItemQueueVisibilityTimeout`).
 */
export const silentMs = { timer: 120_000, manual: 360_000 } as const;

/** True if the run has shown no sign of life for too long at `now` (milliseconds). */
export function isAbandoned(
  { status, trigger, heartbeatAt }: Pick<RunRecord, 'status' | 'trigger' | 'heartbeatAt'>,
  now: number,
): boolean {
  return status === 'running' && now - Date.parse(heartbeatAt) > silentMs[trigger];
}
