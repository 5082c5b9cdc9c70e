import { type OrchestrationContext, RetryOptions, type Task } from 'durable-functions';
import { errorText } from '../platform/errorText.ts';
import { addCounts, type Counts } from './job.ts';
import type { GroupTask, ManualRun } from './manualRun.ts';
import { type GroupRecord, groupRecordSchema } from './runRecord.ts';

/** Names of the orchestration and its activities, as the functions are registered. */
export const runJobOrchestrator = 'runJob';
export const runGroupActivity = 'runJobGroup';
export const endRunActivity = 'endJobRun';

/** How often a group whose lease was held elsewhere is tried again, and how long the run waits in between. */
const maxSkips = 30;
const skipWaitMs = 5_000;

/** How often the end of a run is tried to be written down, in seven minutes: until then its record says that it runs. */
const endTries = 12;
const endWaitMs = { first: 2_000, longest: 60_000 };

/**
 * The orchestration of a manual run. Fans out over the groups, shows its progress as custom status, tries a group again
 * whose lease the timer's run had, and writes the run's end down. Replayed by Durable Functions: no clock, no I/O.
 */
export function* orchestrateRun(context: OrchestrationContext): Generator<Task, unknown, unknown> {
  const { job, runId, groups, dryRun } = context.df.getInput<ManualRun>();
  const records = new Map<string, GroupRecord>();
  let open = groups;
  for (let tries = 0; open.length > 0 && tries < maxSkips; tries++) {
    if (tries > 0)
      yield context.df.createTimer(new Date(context.df.currentUtcDateTime.getTime() + skipWaitMs));
    const tasks = open.map((group) => {
      const input: GroupTask = { job, runId, group, dryRun };
      return { group, task: context.df.callActivity(runGroupActivity, input) };
    });
    // This schedules all of them. A task must not stand in a second compound one: it would be scheduled once more
    // (https://github.com/Azure/azure-functions-durable-js/issues/574). Waiting for each by itself is safe.
    yield context.df.Task.any(tasks.map(({ task }) => task));
    for (const { group, task } of tasks) {
      records.set(group, yield* recordOf(task));
      context.df.setCustomStatus(progress());
    }
    open = open.filter((group) => records.get(group)?.status === 'skipped');
  }
  for (const group of open) {
    records.set(group, { status: 'failed', counts: {}, reason: 'its lease was held elsewhere all the time' });
  }
  yield context.df.callActivityWithRetry(endRunActivity, retries(), {
    job,
    runId,
    groups: [...records.values()],
  });
  return progress();

  function progress(): { done: number; of: number; counts: Counts } {
    const settled = [...records.values()].filter(({ status }) => status !== 'skipped');
    const counts = settled.reduce<Counts>((sum, record) => addCounts(sum, record.counts), {});
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
