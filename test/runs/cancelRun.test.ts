import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metric } from '../../src/platform/telemetry.ts';
import { cancelRun } from '../../src/runs/cancelRun.ts';
import { endManualRun, newManualRun, runManualGroup } from '../../src/runs/manualRun.ts';
import { runScheduled } from '../../src/runs/runScheduled.ts';
import { cosmosRunStore, type RunStore } from '../../src/runs/runStore.ts';
import { aJob } from '../support/aJob.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { type VirtualLocks, virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A job of five pieces that is cancelled during its second; a report is due before each piece. */
function cancelledInTheMiddle(world: VirtualLocks) {
  return aJob({ '0': 5 }, async (piece, { runId }) => {
    world.clock.stall(2_000);
    if (piece !== '0:1') return;
    const cancelled = await cancelRun({ ...world, runs }, { job: 'count', runId }, 'wrong day');
    expect(cancelled).toMatchObject({ kind: 'cancelled', run: { status: 'cancelled', reason: 'wrong day' } });
  });
}

describe('a run that is cancelled', () => {
  test('by hand: its group ends the piece that it is at, and the end of the run changes nothing', async () => {
    const world = virtualLocks();
    const watch = cancelledInTheMiddle(world);
    const dependencies = { ...world, jobs: [watch.job], runs, instance: 'host-a' };
    const run = { job: 'count', runId: 'manual-1', groups: ['0'], dryRun: false };
    await runs.create(newManualRun(run, '2026-01-01T00:00:00.000Z'));
    const task = { job: 'count', runId: 'manual-1', group: '0', dryRun: false };
    const group = await runManualGroup(dependencies, task);
    expect(watch.processed).toEqual(['0:0', '0:1']);
    expect(group).toMatchObject({ status: 'failed', reason: 'the run was ended' });
    await endManualRun(dependencies, { ...run, groups: [group] });
    expect(await runs.read('count', 'manual-1')).toMatchObject({ status: 'cancelled', reason: 'wrong day' });
    expect(world.telemetry.reports.filter(({ name }) => name === metric.runEnded)).toMatchObject([
      { attributes: { trigger: 'manual', status: 'cancelled' } },
    ]);
  });

  test('by timer: the same', async () => {
    const world = virtualLocks();
    const watch = cancelledInTheMiddle(world);
    const [outcome] = await Promise.allSettled([
      runScheduled(watch.job, { ...world, runs, instance: 'host-a' }),
    ]);
    expect(JSON.stringify(outcome)).not.toContain('could not be ended');
    expect(watch.processed).toEqual(['0:0', '0:1']);
    const { items } = await runs.list({ job: 'count', status: 'cancelled', pageSize: 10 });
    expect(items.filter(({ trigger }) => trigger === 'timer')).toMatchObject([{ reason: 'wrong day' }]);
  });

  test('before it began: nothing is processed', async () => {
    const world = virtualLocks();
    const watch = aJob({ '0': 2 });
    const dependencies = { ...world, jobs: [watch.job], runs, instance: 'host-a' };
    const run = { job: 'count', runId: 'manual-2', groups: ['0'], dryRun: false };
    await runs.create(newManualRun(run, '2026-01-01T00:00:00.000Z'));
    await cancelRun({ ...world, runs }, run, 'wrong day');
    await runManualGroup(dependencies, { job: 'count', runId: 'manual-2', group: '0', dryRun: false });
    expect(watch.processed).toEqual([]);
  });
});

test('of two who cancel one does; whoever comes too late learns how it ended', async () => {
  const world = virtualLocks();
  const key = { job: 'count', runId: 'manual-3' };
  await runs.create(newManualRun({ ...key, groups: ['0'], dryRun: false }, '2026-01-01T00:00:00.000Z'));
  const outcomes = await Promise.all(['a', 'b'].map((reason) => cancelRun({ ...world, runs }, key, reason)));
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['cancelled', 'ended']);
  expect(await cancelRun({ ...world, runs }, key, 'c')).toEqual({ kind: 'ended', status: 'cancelled' });
});
