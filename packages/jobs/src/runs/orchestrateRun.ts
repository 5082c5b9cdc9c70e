import { isDeepStrictEqual } from 'node:util';
import { errorText } from '@payonce/leases/error-text';
import { type OrchestrationContext, RetryOptions, type Task } from 'durable-functions';
import type { RunCounts } from './job.ts';
import type { GroupTask, ManualRun } from './manualRun.ts';
import { addCounts } from './runProgress.ts';
import { type GroupRecord, groupRecordSchema } from './runRecord.ts';

/** Names of the orchestration and its activities, as the functions are registered. */
export const runJobOrchestrator = 'runJob';
export const runGroupActivity = 'runJobGroup';
export const endRunActivity = 'endJobRun';

/** Tries of a group that get nowhere, and the pause between two tries (ms). */
const maxTries = 30;
const tryAgainMs = 5_000;

/** Tries to record the end of a run, over seven minutes. Until it is recorded, the run appears to be running. */
const endTries = 12;
const endWaitMs = { first: 2_000, longest: 60_000 };

/**
 * The orchestration of a manual run. Fans out over the groups, shows its progress as custom status, tries a group again if
 * a run of the timer had its lease or, where nobody else goes on (`untilDone`), if it did not end; and records the run's end. Durable Functions replays it: no clock, no I/O.
 */
export function* orchestrateRun(context: OrchestrationContext): Generator<Task, unknown, unknown> {
  const { job, runId, groups, dryRun, untilDone = false, ...trace } = context.df.getInput<ManualRun>();
  const records = new Map<string, GroupRecord>();
  const tries = new Map<string, number>();
  let open = groups;
  while (open.length > 0) {
    if (records.size > 0)
      yield context.df.createTimer(new Date(context.df.currentUtcDateTime.getTime() + tryAgainMs));
    const tasks = open.map((group) => {
      const input: GroupTask = { job, runId, group, dryRun, ...trace };
      return { group, task: context.df.callActivity(runGroupActivity, input) };
    });
    // This schedules all of them. A task must not stand in a second compound one: it would be scheduled once more
    // (https://github.com/Azure/azure-functions-durable-js/issues/574). Waiting for each by itself is safe.
    yield context.df.Task.any(tasks.map(({ task }) => task));
    for (const { group, task } of tasks) {
      const record = yield* recordOf(task);
      if (!gotOn(record, records.get(group))) tries.set(group, (tries.get(group) ?? 0) + 1);
      records.set(group, record);
      context.df.setCustomStatus(progress());
    }
    open = open.filter((group) => isOpen(records.get(group)) && (tries.get(group) ?? 0) < maxTries);
  }
  for (const [group, record] of records) {
    if (!isOpen(record)) continue;
    const reason = record.status === 'skipped' ? 'its lease was held elsewhere all the time' : record.reason;
    records.set(group, { ...record, status: 'failed', ...(reason === undefined ? {} : { reason }) });
  }
  const end = { job, runId, groups: [...records.values()] };
  yield context.df.callActivityWithRetry(endRunActivity, retries(), end);
  return progress();

  function isOpen(record: GroupRecord | undefined): boolean {
    return record?.status === 'skipped' || (untilDone && record?.status !== 'completed');
  }

  /** The time of one activity was up, and it has left less to the next. A dry run begins anew each time. */
  function gotOn({ status, counts }: GroupRecord, before: GroupRecord | undefined): boolean {
    return !dryRun && status === 'partial' && !isDeepStrictEqual(counts, before?.counts ?? {});
  }

  function progress(): { done: number; of: number; counts: RunCounts } {
    const settled = [...records.values()].filter(({ status }) => status !== 'skipped');
    const counts = settled.reduce<RunCounts>((sum, record) => addCounts(sum, record.counts), {});
    return { done: settled.length, of: groups.length, counts };
  }
}

function retries(): RetryOptions {
  const options = new RetryOptions(endWaitMs.first, endTries);
  options.backoffCoefficient = 2;
  options.maxRetryIntervalInMilliseconds = endWaitMs.longest;
  return options;
}

/** An activity that failed outright (its host was stopped, the store did not answer) fails its group only. */
function* recordOf(task: Task): Generator<Task, GroupRecord, unknown> {
  try {
    return groupRecordSchema.parse(yield task);
  } catch (error) {
    return { status: 'failed', counts: {}, reason: errorText(error) };
  }
}
