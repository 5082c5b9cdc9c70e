import type { OrchestrationContext, RetryOptions } from 'durable-functions';
import { describe, expect, test } from 'vitest';
import type { GroupTask, ManualRun } from '../../src/runs/manualRun.ts';
import { endRunActivity, orchestrateRun, runGroupActivity } from '../../src/runs/orchestrateRun.ts';
import type { GroupRecord } from '../../src/runs/runRecord.ts';

interface FakeTask {
  kind: 'activity' | 'any' | 'timer';
  name?: string;
  input?: unknown;
  retry?: RetryOptions;
  tasks?: FakeTask[];
  isCompleted: boolean;
  isFaulted: boolean;
  result?: unknown;
}

type Answer = GroupRecord | Error;

/** Drives the orchestration as a plain generator. `answer` gives the result of a group's activity at each try. */
function drive(run: ManualRun, answer: (group: string, tries: number) => Answer) {
  const tries = new Map<string, number>();
  const statuses: unknown[] = [];
  const ended: unknown[] = [];
  let timers = 0;
  const task = (fields: Partial<FakeTask> & Pick<FakeTask, 'kind'>): FakeTask => ({
    isCompleted: false,
    isFaulted: false,
    ...fields,
  });
  const context = {
    df: {
      getInput: () => run,
      currentUtcDateTime: new Date(0),
      callActivity: (name: string, input: unknown) => task({ kind: 'activity', name, input }),
      callActivityWithRetry: (name: string, retry: RetryOptions, input: unknown) =>
        task({ kind: 'activity', name, input, retry }),
      createTimer: () => task({ kind: 'timer' }),
      setCustomStatus: (status: unknown) => void statuses.push(status),
      Task: { any: (tasks: FakeTask[]) => task({ kind: 'any', tasks }) },
    },
  } as unknown as OrchestrationContext;
  const generator = orchestrateRun(context);
  let step = generator.next();
  for (let steps = 0; step.done !== true; steps++) {
    if (steps > 1_000) throw new Error('the orchestration does not end');
    const waited = step.value as unknown as FakeTask;
    complete(waited);
    step = waited.isFaulted ? generator.throw(waited.result) : generator.next(waited.result);
  }
  return { result: step.value, statuses, ended, timers, tries: Object.fromEntries(tries) };

  /** Completes the awaited task. Of several, the last completes first: the code must not rely on their order. */
  function complete(waited: FakeTask): void {
    const last = waited.tasks?.at(-1);
    if (last !== undefined) settle(last);
    if (waited.kind === 'timer') timers++;
    if (waited.name === endRunActivity) {
      expect(waited.retry).toMatchObject({ maxNumberOfAttempts: 12, backoffCoefficient: 2 });
      ended.push(waited.input);
    }
    if (waited.name === runGroupActivity && !waited.isCompleted) settle(waited);
  }

  function settle(one: FakeTask): void {
    expect(one.name).toBe(runGroupActivity);
    const { group } = one.input as GroupTask;
    const count = (tries.get(group) ?? 0) + 1;
    tries.set(group, count);
    const answered = answer(group, count);
    one.isCompleted = true;
    one.isFaulted = answered instanceof Error;
    one.result = answered;
  }
}

const run: ManualRun = { job: 'count', runId: 'r1', groups: ['0', '1', '2'], dryRun: false };
const completed: GroupRecord = { status: 'completed', counts: { done: 2 } };
const skipped: GroupRecord = { status: 'skipped', counts: {}, reason: 'held elsewhere' };

describe('orchestrateRun', () => {
  test('fans out, shows progress and records the end with every group', () => {
    const { result, statuses, ended } = drive(run, () => completed);
    expect(statuses).toEqual([1, 2, 3].map((done) => ({ done, of: 3, counts: { done: done * 2 } })));
    expect(result).toEqual({ done: 3, of: 3, counts: { done: 6 } });
    expect(ended).toEqual([{ job: 'count', runId: 'r1', groups: [completed, completed, completed] }]);
  });

  test('a group whose lease was held is tried again after a wait, the others are not', () => {
    const { tries, timers, ended } = drive(run, (group, n) => (group === '1' && n < 3 ? skipped : completed));
    expect(tries).toEqual({ '0': 1, '1': 3, '2': 1 });
    expect(timers).toBe(2);
    expect(ended).toMatchObject([{ groups: [completed, completed, completed] }]);
  });

  test('a group whose lease is always held elsewhere fails after 30 tries', () => {
    const { tries, ended } = drive(run, (group) => (group === '0' ? skipped : completed));
    expect(tries['0']).toBe(30);
    expect(JSON.stringify(ended)).toContain('its lease was held elsewhere all the time');
  });

  test('where nobody else goes on, a group that was cut off or has failed is tried again', () => {
    const cut: GroupRecord = { status: 'partial', counts: { done: 1 }, reason: 'time is up' };
    const answers = [cut, new Error('the host was stopped'), { ...cut, status: 'lost' as const }, completed];
    const answer = (group: string, n: number) => (group === '1' ? (answers[n - 1] ?? completed) : completed);
    const { tries, ended } = drive({ ...run, untilDone: true }, answer);
    expect(tries).toEqual({ '0': 1, '1': 4, '2': 1 });
    expect(ended).toMatchObject([{ groups: [completed, completed, completed] }]);
    expect(drive(run, answer).tries).toEqual({ '0': 1, '1': 1, '2': 1 });
    const failing = drive({ ...run, untilDone: true }, () => new Error('a bug'));
    expect(failing.tries['0']).toBe(30);
    expect(JSON.stringify(failing.ended)).toContain('a bug');
  });

  test('where nobody else goes on, a group goes on for as long as each activity gets further', () => {
    const cut = (done: number): GroupRecord => ({
      status: 'partial',
      counts: { done },
      reason: 'time is up',
    });
    const bulk: ManualRun = { ...run, groups: ['0'], untilDone: true };
    const long = drive(bulk, (_group, n) => (n <= 40 ? cut(n) : completed));
    expect(long.ended).toMatchObject([{ groups: [completed] }]);
    const stuck = drive(bulk, () => cut(1));
    expect(stuck.tries['0']).toBe(31);
    expect(stuck.ended).toMatchObject([{ groups: [{ ...cut(1), status: 'failed' }] }]);
    expect(drive({ ...bulk, dryRun: true }, (_group, n) => cut(n)).tries['0']).toBe(30);
  });

  test('an activity that throws fails its group, and the end of the run is still recorded', () => {
    const { ended } = drive(run, (group) => (group === '2' ? new Error('the host was stopped') : completed));
    expect(ended).toHaveLength(1);
    expect(JSON.stringify(ended)).toContain('the host was stopped');
  });
});
