import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aJob } from '../../../../test/support/aJob.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { type VirtualLocks, virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { partMetric } from '../../../leases/src/telemetry.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { endManualRun, newManualRun, runManualGroup } from '../../src/runs/manualRun.ts';
import { runScheduled } from '../../src/runs/runScheduled.ts';
import { cancelRun, type RunStore } from '../../src/runs/runStore.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** Builds the parts that runs and their cancellation need, in this world. */
function partsOf({ locks, clock, telemetry }: VirtualLocks) {
  return { locks, runs, instance: anInstance({ clock, telemetry }) };
}

/** A job of five pieces, cancelled during its second. A report is due before each piece. */
function cancelledInTheMiddle(world: VirtualLocks) {
  return aJob({ '0': 5 }, async (piece, { runId }) => {
    world.clock.stall(2_000);
    if (piece !== '0:1') return;
    const cancelled = await cancelRun(partsOf(world), { job: 'count', runId }, 'wrong day');
    expect(cancelled).toMatchObject({ kind: 'cancelled', run: { status: 'cancelled', reason: 'wrong day' } });
  });
}

describe('a cancelled run', () => {
  test('manual: its group finishes the current piece, and the end of the run changes nothing', async () => {
    const world = virtualLocks();
    const watch = cancelledInTheMiddle(world);
    const parts = { ...partsOf(world), jobs: [watch.job] };
    const run = { job: 'count', runId: 'manual-1', groups: ['0'], dryRun: false };
    await runs.create(newManualRun(run, '2026-01-01T00:00:00.000Z'));
    const task = { job: 'count', runId: 'manual-1', group: '0', dryRun: false };
    const group = await runManualGroup(parts, task);
    expect(watch.processed).toEqual(['0:0', '0:1']);
    expect(group).toMatchObject({ status: 'failed', reason: 'the run was ended' });
    await endManualRun(parts, { ...run, groups: [group] });
    expect(await runs.read('count', 'manual-1')).toMatchObject({ status: 'cancelled', reason: 'wrong day' });
    expect(world.telemetry.reports.filter(({ name }) => name === partMetric.runEnded)).toMatchObject([
      { attributes: { trigger: 'manual', status: 'cancelled' } },
    ]);
  });

  test('of the timer: the same', async () => {
    const world = virtualLocks();
    const watch = cancelledInTheMiddle(world);
    const [outcome] = await Promise.allSettled([runScheduled(watch.job, partsOf(world))]);
    expect(JSON.stringify(outcome)).not.toContain('could not be ended');
    expect(watch.processed).toEqual(['0:0', '0:1']);
    const { items } = await runs.list({ job: 'count', status: 'cancelled', pageSize: 10 });
    expect(items.filter(({ trigger }) => trigger === 'timer')).toMatchObject([{ reason: 'wrong day' }]);
  });

  test('before it starts: nothing is processed', async () => {
    const world = virtualLocks();
    const watch = aJob({ '0': 2 });
    const parts = { ...partsOf(world), jobs: [watch.job] };
    const run = { job: 'count', runId: 'manual-2', groups: ['0'], dryRun: false };
    await runs.create(newManualRun(run, '2026-01-01T00:00:00.000Z'));
    await cancelRun(partsOf(world), run, 'wrong day');
    await runManualGroup(parts, { job: 'count', runId: 'manual-2', group: '0', dryRun: false });
    expect(watch.processed).toEqual([]);
  });
});

test('one of two cancels wins, and a late one gets the final status', async () => {
  const world = virtualLocks();
  const key = { job: 'count', runId: 'manual-3' };
  await runs.create(newManualRun({ ...key, groups: ['0'], dryRun: false }, '2026-01-01T00:00:00.000Z'));
  const outcomes = await Promise.all(['a', 'b'].map((reason) => cancelRun(partsOf(world), key, reason)));
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['cancelled', 'ended']);
  expect(await cancelRun(partsOf(world), key, 'c')).toEqual({ kind: 'ended', status: 'cancelled' });
});
