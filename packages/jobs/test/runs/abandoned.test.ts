import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aJob } from '../../../../test/support/aJob.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { startRun } from '../../src/runs/manualRun.ts';
import { newRun } from '../../src/runs/runProgress.ts';
import type { RunRecord, RunStatus } from '../../src/runs/runRecord.ts';
import type { RunStore } from '../../src/runs/runStore.ts';
import { asShown, isAbandoned, storedAs } from '../../src/runs/runView.ts';

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

  test('is running again if its process was only slow', async () => {
    const { silentRun, shown, iso, clock } = aProcess('slow-job');
    const run = await silentRun(3 * minute);
    const record = { status: 'running', counts: { done: 2 } } as const;
    expect(await runs.updateGroup({ job: 'slow-job', runId: run.id }, '1', record, iso(clock.now()))).toBe(
      true,
    );
    expect(await shown(run)).toMatchObject({ status: 'running', groups: { '1': record } });
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

  test('an abandoned run: its unfinished groups are started', async () => {
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

test('lists find abandoned runs by the status that is shown', async () => {
  const job = 'listed';
  const { silentRun, clock } = aProcess(job);
  const ids = {
    alive: (await silentRun(minute)).id,
    aliveManual: (await silentRun(3 * minute, { trigger: 'manual' })).id,
    silent: (await silentRun(3 * minute)).id,
    failed: (await silentRun(9 * minute, { status: 'failed' })).id,
  };
  const found = async (status: RunStatus) => {
    const { items } = await runs.list({ job, pageSize: 10, ...storedAs(status, clock.now()) });
    return items.map(({ id }) => id).toSorted();
  };
  expect(await found('running')).toEqual([ids.alive, ids.aliveManual].toSorted());
  expect(await found('abandoned')).toEqual([ids.silent]);
  expect(await found('failed')).toEqual([ids.failed]);
});
