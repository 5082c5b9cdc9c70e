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

/** Tries of a group whose lease is held elsewhere, and the pause in between (ms). */
const maxSkips = 30;
const skipWaitMs = 5_000;

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
  let open = groups;
  for (let tries = 0; open.length > 0 && tries < maxSkips; tries++) {
    if (tries > 0)
      yield context.df.createTimer(new Date(context.df.currentUtcDateTime.getTime() + skipWaitMs));
    const tasks = open.map((group) => {
      const input: GroupTask = { job, runId, group, dryRun, ...trace };
      return { group, task: context.df.callActivity(runGroupActivity, input) };
    });
    // This schedules all of them. A task must not stand in a second compound one: it would be scheduled once more
    // (https://github.com/Azure/azure-functions-durable-js/issues/574). Waiting for each by itself is safe.
    yield context.df.Task.any(tasks.map(({ task }) => task));
    for (const { group, task } of tasks) {
      records.set(group, yield* recordOf(task));
      context.df.setCustomStatus(progress());
    }
    open = open.filter((group) => isOpen(records.get(group)?.status));
  }
  for (const group of open) {
    if (records.get(group)?.status !== 'skipped') continue;
    records.set(group, { status: 'failed', counts: {}, reason: 'its lease was held elsewhere all the time' });
  }
  yield context.df.callActivityWithRetry(endRunActivity, retries(), {
    job,
    runId,
    groups: [...records.values()],
  });
  return progress();

  function isOpen(status: GroupRecord['status'] | undefined): boolean {
    return status === 'skipped' || (untilDone && status !== 'completed');
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
