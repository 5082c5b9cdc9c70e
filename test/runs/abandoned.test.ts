import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metric } from '../../src/platform/telemetry.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { startRun } from '../../src/runs/manualRun.ts';
import { isAbandoned, newRun, type RunRecord, type RunStatus } from '../../src/runs/runRecord.ts';
import { runScheduled } from '../../src/runs/runScheduled.ts';
import { asShown, type RunStore, storedAs } from '../../src/runs/runStore.ts';
import { aJob } from '../support/aJob.ts';
import { anInstance } from '../support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const second = 1_000;
const minute = 60 * second;

/** A process, and how to store a run of `job` whose last sign of life was `silentMs` ago. */
function aProcess(job: string) {
  const { locks, clock, telemetry } = virtualLocks();
  const instance = anInstance({ clock, telemetry });
  const iso = (ms: number) => new Date(ms).toISOString();
  async function silentRun(silentMs: number, changes: Partial<RunRecord> = {}): Promise<RunRecord> {
    const groups: RunRecord['groups'] = {
      '0': { status: 'completed', counts: { done: 3 } },
      '1': { status: 'running', counts: { done: 1 }, lockOwner: 'host-dead' },
      '2': { status: 'pending', counts: {} },
    };
    const started = { id: randomUUID(), job, trigger: 'timer' as const, dryRun: false, groups };
    const record = { ...newRun(started, iso(clock.now() - silentMs)), ...changes };
    await runs.create(record);
    return record;
  }
  const shown = async ({ id }: RunRecord) => {
    const stored = await runs.read(job, id);
    if (stored === undefined) throw new Error('it is gone');
    return asShown(stored, clock.now());
  };
  return { parts: { locks, runs, instance }, clock, telemetry, silentRun, shown, iso };
}

describe('a run whose process has died', () => {
  test.each([
    ['timer', 120 * second, false],
    ['timer', 120 * second + 1, true],
    ['manual', 360 * second, false],
    ['manual', 360 * second + 1, true],
  ] as const)('of trigger %s, silent for %i ms: abandoned %s', (trigger, silentMs, expected) => {
    const heartbeatAt = new Date(0).toISOString();
    expect(isAbandoned({ status: 'running', trigger, heartbeatAt }, silentMs)).toBe(expected);
    expect(isAbandoned({ status: 'completed', trigger, heartbeatAt }, silentMs)).toBe(false);
  });

  test('is shown as abandoned at once, with none of its groups still running', async () => {
    const { silentRun, shown, iso, clock } = aProcess('shown-job');
    const run = await silentRun(3 * minute);
    expect(await shown(run)).toMatchObject({
      status: 'abandoned',
      reason: `no sign of life since ${iso(clock.now() - 3 * minute)}`,
      groups: {
        '0': { status: 'completed', counts: { done: 3 } },
        '1': { status: 'lost', counts: { done: 1 }, reason: expect.any(String) },
        '2': { status: 'lost' },
      },
    });
    expect(await runs.read('shown-job', run.id)).toMatchObject({ status: 'running' });
  });

  test('is closed by the next run, even one that finds nothing to do; one that lives is not', async () => {
    const { job } = aJob({});
    const { parts, silentRun, shown, telemetry, iso, clock } = aProcess(job.name);
    const [dead, alive] = [await silentRun(3 * minute), await silentRun(minute)];
    await runScheduled(job, parts);
    expect(await runs.read(job.name, dead.id)).toMatchObject({
      status: 'abandoned',
      completedAt: iso(clock.now()),
      heartbeatAt: dead.heartbeatAt,
    });
    expect(await shown(dead)).toMatchObject({ status: 'abandoned', groups: { '1': { status: 'lost' } } });
    expect(await shown(alive)).toMatchObject({ status: 'running' });
    const ended = telemetry.reports.filter(({ name }) => name === metric.runEnded);
    expect(ended.map(({ attributes }) => attributes.status)).toEqual(['abandoned', 'completed']);
    expect(
      await runs.updateGroup({ job: job.name, runId: dead.id }, '1', { status: 'running', counts: {} }, ''),
    ).toBe(false);
  });

  test('that gives a sign of life while it is being closed goes on', async () => {
    const { job } = aJob({});
    const { parts, silentRun, shown, iso, clock } = aProcess(job.name);
    const run = await silentRun(3 * minute);
    const store: RunStore = {
      ...runs,
      async list(query) {
        const page = await runs.list(query);
        await runs.updateGroup(
          { job: job.name, runId: run.id },
          '1',
          { status: 'running', counts: {} },
          iso(clock.now()),
        );
        return page;
      },
    };
    await runScheduled(job, { ...parts, runs: store });
    expect(await shown(run)).toMatchObject({ status: 'running' });
  });

  test('hides no failure: records that cannot be read stop no run', async () => {
    const { job, processed } = aJob({ '0': 1 });
    const { parts, telemetry } = aProcess(job.name);
    const store: RunStore = { ...runs, list: () => Promise.reject(new Error('away')) };
    await runScheduled(job, { ...parts, runs: store });
    expect(processed).toHaveLength(1);
    expect(telemetry.values(metric.runReportFailed)).toEqual([1]);
  });
});

describe('resuming', () => {
  const orchestrations = {
    startNew: async () => 'started',
    getStatus: () => Promise.reject(new Error('none')),
    terminate: async () => {},
  };

  async function resume(
    job: ReturnType<typeof aJob>['job'],
    process: ReturnType<typeof aProcess>,
    id: string,
  ) {
    const { instance } = process.parts;
    return startRun({ job, runs, orchestrations, instance }, { dryRun: false, resume: id });
  }

  test('an abandoned run that nobody has closed: its unfinished groups are started', async () => {
    const { job } = aJob({ '0': 1, '1': 1, '2': 1 });
    const process = aProcess(job.name);
    const run = await process.silentRun(3 * minute);
    expect(await resume(job, process, run.id)).toMatchObject({ kind: 'started', groups: ['1', '2'] });
    expect(await process.shown(run)).toMatchObject({ status: 'abandoned' });
  });

  test('a run whose process died before any group reported: all of its groups are started', async () => {
    const { job } = aJob({ '0': 1, '1': 1 });
    const process = aProcess(job.name);
    const run = await process.silentRun(3 * minute, { groups: {} });
    expect(await resume(job, process, run.id)).toMatchObject({ kind: 'started', groups: ['0', '1'] });
  });

  test('a run that lives is refused', async () => {
    const { job } = aJob({ '0': 1, '1': 1, '2': 1 });
    const process = aProcess(job.name);
    const run = await process.silentRun(minute);
    expect(await resume(job, process, run.id)).toMatchObject({ kind: 'bad', field: 'resume' });
  });
});

test('lists find abandoned runs by the status that is shown, closed or not', async () => {
  const job = 'listed';
  const { silentRun, clock } = aProcess(job);
  const ids = {
    alive: (await silentRun(minute)).id,
    aliveManual: (await silentRun(3 * minute, { trigger: 'manual' })).id,
    silent: (await silentRun(3 * minute)).id,
    closed: (await silentRun(9 * minute, { status: 'abandoned' })).id,
    failed: (await silentRun(9 * minute, { status: 'failed' })).id,
  };
  const found = async (status: RunStatus) => {
    const { items } = await runs.list({ job, pageSize: 10, ...storedAs(status, clock.now()) });
    return items.map(({ id }) => id).toSorted();
  };
  expect(await found('running')).toEqual([ids.alive, ids.aliveManual].toSorted());
  expect(await found('abandoned')).toEqual([ids.silent, ids.closed].toSorted());
  expect(await found('failed')).toEqual([ids.failed]);
});
