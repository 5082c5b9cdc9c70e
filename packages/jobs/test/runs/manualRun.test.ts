import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aJob, type JobWatch } from '../../../../test/support/aJob.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { jobLockKey } from '../../../leases/src/index.ts';
import { partMetric } from '../../../leases/src/telemetry.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { endManualRun, newManualRun, runIdFor, runManualGroup } from '../../src/runs/manualRun.ts';
import type { RunStore } from '../../src/runs/runStore.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const at = '2026-01-01T00:00:00.000Z';

/** A manual run of this job that has just started. */
async function startedRun({ job }: JobWatch, { dryRun = false, groups = [...job.groups] } = {}) {
  const world = virtualLocks();
  const runId = runIdFor('count', undefined);
  await runs.create(newManualRun({ job: job.name, runId, groups, dryRun }, at));
  const { locks, clock, telemetry } = world;
  const parts = { jobs: [job], locks, runs, instance: anInstance({ clock, telemetry }) };
  return {
    world,
    runId,
    parts,
    task: (group: string) => ({ job: job.name, runId, group, dryRun }),
    record: () => runs.read(job.name, runId),
  };
}

describe('runManualGroup', () => {
  test('processes its group under the lease that the timer’s runs use, and reports', async () => {
    const watch = aJob({ '0': 3, '1': 1 }, (_piece, { lease }) => {
      expect(lease.key).toBe(jobLockKey('count', '0'));
    });
    const run = await startedRun(watch);
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({
      status: 'completed',
      counts: { done: 3 },
    });
    expect(await run.record()).toMatchObject({
      status: 'running',
      lockOwner: 'host-a',
      groups: { '0': { status: 'completed' }, '1': { status: 'pending' } },
    });
  });

  test('a dry run processes nothing', async () => {
    const watch = aJob({ '0': 3 });
    const run = await startedRun(watch, { dryRun: true });
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({ counts: { done: 3 } });
    expect(watch.processed).toEqual([]);
  });

  test('skips a group whose lease stays held elsewhere, and the record says so', async () => {
    const watch = aJob({ '0': 1 });
    const run = await startedRun(watch);
    const other = virtualLocks({}, run.world);
    await using _held = await other.locks.acquire(
      jobLockKey('count', '0'),
      { instance: 'host-b', job: 'count' },
      { waitMs: 0 },
    );
    const waiting = runManualGroup(run.parts, run.task('0'));
    for (let n = 0; n < 25; n++) await run.world.clock.advance(1_000);
    expect(await waiting).toEqual({ status: 'skipped', counts: {}, reason: 'held elsewhere' });
    expect(await run.record()).toMatchObject({ groups: { '0': { status: 'skipped' } } });
    expect(watch.processed).toEqual([]);
  });

  test('a lock store that denies access fails the group with that reason: the lease is not held elsewhere', async () => {
    const watch = aJob({ '0': 1 });
    const run = await startedRun(watch);
    run.world.network.fault = () => ({ kind: 'status', status: 403 });
    const running = runManualGroup(run.parts, run.task('0'));
    for (let n = 0; n < 40; n++) await run.world.clock.advance(1_000);
    const record = await running;
    expect(record).toEqual({ status: 'failed', counts: {}, reason: expect.stringContaining('403') });
    expect(await run.record()).toMatchObject({ groups: { '0': record } });
  });

  test('a lock store that fails once and then reports the lease as held: skipped', async () => {
    const run = await startedRun(aJob({ '0': 1 }));
    const other = virtualLocks({}, run.world);
    await using _held = await other.locks.acquire(
      jobLockKey('count', '0'),
      { instance: 'host-b', job: 'count' },
      { waitMs: 0 },
    );
    let faults = 1;
    run.world.network.fault = () => (faults-- > 0 ? { kind: 'status', status: 503 } : { kind: 'none' });
    const waiting = runManualGroup(run.parts, run.task('0'));
    for (let n = 0; n < 25; n++) await run.world.clock.advance(1_000);
    expect(await waiting).toMatchObject({ status: 'skipped' });
  });

  test('a group that takes too long stops before the host kills the process, and is partial', async () => {
    let world: ReturnType<typeof virtualLocks> | undefined;
    const run = await startedRun(aJob({ '0': 50 }, () => world?.clock.advance(100_000)));
    world = run.world;
    const record = await runManualGroup(run.parts, run.task('0'));
    expect(record).toMatchObject({ status: 'partial', counts: { done: 6 } });
    await endManualRun(run.parts, { job: 'count', runId: run.runId, groups: [record] });
    expect(await run.record()).toMatchObject({
      status: 'completed',
      reason: expect.stringContaining('time is up'),
    });
  });

  test('a group goes on if its record cannot be written', async () => {
    const watch = aJob({ '0': 3 });
    const run = await startedRun(watch);
    const away = { ...runs, updateGroup: () => Promise.reject(new Error('the store is away')) };
    const record = await runManualGroup({ ...run.parts, runs: away }, run.task('0'));
    expect(record).toMatchObject({ status: 'completed', counts: { done: 3 } });
    expect(run.world.telemetry.values(partMetric.runReportFailed)).toHaveLength(2);
  });

  test('a run that was started past the API does nothing: only the record says what was asked for', async () => {
    const watch = aJob({ '0': 3, '1': 1 });
    const run = await startedRun(watch, { dryRun: true, groups: ['0'] });
    const forged = [
      { ...run.task('0'), runId: 'started-by-a-webhook' },
      { ...run.task('0'), dryRun: false },
      run.task('1'),
    ];
    for (const task of forged) {
      expect(await runManualGroup(run.parts, task)).toEqual({
        status: 'failed',
        counts: {},
        reason: expect.stringContaining('not on record'),
      });
    }
    expect(watch.processed).toEqual([]);
  });

  test('an unknown job is an error that names it', async () => {
    const run = await startedRun(aJob({ '0': 1 }));
    await expect(runManualGroup(run.parts, { ...run.task('0'), job: 'other' })).rejects.toThrow(
      'no job is called other',
    );
  });
});

describe('endManualRun', () => {
  test('sets the final status from the groups, once', async () => {
    const run = await startedRun(aJob({ '0': 1 }));
    const end = { job: 'count', runId: run.runId };
    const lost = { status: 'lost' as const, counts: {}, reason: 'taken' };
    await endManualRun(run.parts, { ...end, groups: [{ status: 'completed', counts: {} }, lost] });
    expect(await run.record()).toMatchObject({ status: 'failed', reason: 'lost: taken' });
    await endManualRun(run.parts, { ...end, groups: [] });
    expect(await run.record()).toMatchObject({ status: 'failed' });
  });

  test('all groups completed: completed', async () => {
    const run = await startedRun(aJob({ '0': 1 }));
    await endManualRun(run.parts, {
      job: 'count',
      runId: run.runId,
      groups: [{ status: 'completed', counts: { done: 1 } }],
    });
    expect(await run.record()).toMatchObject({ status: 'completed', completedAt: expect.any(String) });
  });
});

test('an idempotency key always stands for the same run; without a key each run is new', () => {
  expect(runIdFor('count', 'a')).toBe(runIdFor('count', 'a'));
  expect(runIdFor('count', 'a')).not.toBe(runIdFor('count', 'b'));
  expect(runIdFor('count', 'a')).not.toBe(runIdFor('bulk', 'a'));
  expect(runIdFor('count', undefined)).not.toBe(runIdFor('count', undefined));
  expect(runIdFor('count', '../../x')).toMatch(/^[0-9a-f]{32}$/);
});
