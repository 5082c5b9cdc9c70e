import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aJob, type JobWatch } from '../../../../test/support/aJob.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { virtualLocks } from '../../../../test/support/virtualLocks.ts';
import { jobLockKey } from '../../../leases/src/index.ts';
import { cosmosRunStore } from '../../src/runs/cosmosRunStore.ts';
import { HostStopping, newManualRun, runManualGroup } from '../../src/runs/manualRun.ts';
import type { RunStore } from '../../src/runs/runStore.ts';
import { runView } from '../../src/runs/runView.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

const at = '2026-01-01T00:00:00.000Z';
let started = 0;

/** A manual run of this job, and what its activities need. */
async function aRun({ job }: JobWatch, { dryRun = false } = {}) {
  const key = { job: job.name, runId: `run-${started++}` };
  await runs.create(newManualRun({ ...key, groups: [...job.groups], dryRun }, at));
  const { locks, clock, telemetry } = virtualLocks();
  return {
    key,
    clock,
    parts: { jobs: [job], locks, runs, instance: anInstance({ clock, telemetry }) },
    task: (group: string) => ({ ...key, group, dryRun }),
    view: async () => {
      const record = await runs.read(key.job, key.runId);
      if (record === undefined) throw new Error('there is no such run');
      return runView(record);
    },
  };
}

const group = (status: 'running' | 'completed' | 'lost', fence: number, done: number) => ({
  status,
  fence,
  lockOwner: `host-${fence}`,
  counts: { done },
});

describe('a group that is done again', () => {
  test('goes on counting where the record of its dead process is', async () => {
    const run = await aRun(aJob({ '0': 3 }));
    await runs.updateGroup(run.key, '0', group('running', 0, 4), at);
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({ counts: { done: 7 } });
    expect(await run.view()).toMatchObject({ counts: { done: 7 } });
  });

  test('keeps the counts and the piece in hand of one and the same record, in a job that keeps its pieces', async () => {
    const { job } = aJob({ '0': 3 });
    const run = await aRun({ job: { ...job, keepsPiece: true }, processed: [] });
    await runs.updateGroup(run.key, '0', { ...group('running', 0, 4), inHand: '0:0' }, at);
    let reads = 0;
    const flaky: RunStore = {
      ...runs,
      read: (...key) => (++reads > 2 ? Promise.reject(new Error('the store is away')) : runs.read(...key)),
    };
    expect(await runManualGroup({ ...run.parts, runs: flaky }, run.task('0'))).toMatchObject({
      counts: { done: 8 },
    });
  });

  test('after its end, because the answer was lost: counts nothing twice', async () => {
    const left = { '0': 3 };
    const watch = aJob(left);
    const run = await aRun(watch);
    await runManualGroup(run.parts, run.task('0'));
    left['0'] = 0;
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({
      status: 'completed',
      counts: { done: 3 },
    });
  });

  test('counts from zero in a dry run, which does it all again', async () => {
    const run = await aRun(aJob({ '0': 3 }), { dryRun: true });
    await runManualGroup(run.parts, run.task('0'));
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({ counts: { done: 3 } });
  });

  test('keeps its counts while its lease is held elsewhere', async () => {
    const run = await aRun(aJob({ '0': 3 }));
    await runs.updateGroup(run.key, '0', group('running', 0, 4), at);
    const { locks } = run.parts;
    const held = await locks.tryAcquire(jobLockKey(run.key.job, '0'), { instance: 'b', job: 'count' });
    const waiting = runManualGroup(run.parts, run.task('0'));
    for (let n = 0; n < 25; n++) await run.clock.advance(1_000);
    expect(await waiting).toMatchObject({ status: 'skipped', counts: { done: 4 } });
    await held?.release();
    expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({ counts: { done: 7 } });
  });

  test('is not overwritten by the process that lost it', async () => {
    const run = await aRun(aJob({ '0': 0 }));
    await runs.updateGroup(run.key, '0', group('completed', 5, 20), at);
    expect(await runs.updateGroup(run.key, '0', group('lost', 4, 11), at)).toBe(false);
    expect(await run.view()).toMatchObject({ groups: { '0': group('completed', 5, 20) } });
  });
});

test('a group whose host stops has no end: another host goes on with it', async () => {
  const stopping = new AbortController();
  const watch = aJob({ '0': 3 }, (piece) => {
    if (piece === '0:1') stopping.abort();
  });
  const run = await aRun(watch);
  await expect(runManualGroup(run.parts, run.task('0'), stopping.signal)).rejects.toThrow(HostStopping);
  await expect(runManualGroup(run.parts, run.task('0'), stopping.signal)).rejects.toThrow(HostStopping);
  expect(await run.view()).toMatchObject({ status: 'running', counts: { done: 2 } });
  expect(await runManualGroup(run.parts, run.task('0'))).toMatchObject({ counts: { done: 5 } });
});

describe('once a run has ended', () => {
  test.each(['cancelled', 'failed'] as const)('%s: none of its groups is open', async (status) => {
    const run = await aRun(aJob({ '0': 0, '1': 0, '2': 0 }));
    await runs.updateGroup(run.key, '0', group('completed', 1, 3), at);
    await runs.updateGroup(run.key, '1', group('running', 1, 2), at);
    expect(await runs.end(run.key, { status, at })).toBe(true);
    expect((await run.view()).groups).toEqual({
      '0': group('completed', 1, 3),
      '1': { ...group('running', 1, 2), status: 'failed', reason: expect.stringContaining(status) },
      '2': { status: 'skipped', counts: {}, reason: expect.stringContaining(status) },
    });
  });

  test('a group that reports later is still counted', async () => {
    const run = await aRun(aJob({ '0': 0 }));
    await runs.updateGroup(run.key, '0', group('running', 1, 2), at);
    await runs.end(run.key, { status: 'cancelled', at });
    expect(await runs.updateGroup(run.key, '0', group('running', 1, 3), at)).toBe(false);
    expect(await run.view()).toMatchObject({ groups: { '0': { status: 'failed' } }, counts: { done: 2 } });
    expect(await runs.updateGroup(run.key, '0', group('lost', 1, 4), at)).toBe(false);
    expect(await run.view()).toMatchObject({ status: 'cancelled', groups: { '0': group('lost', 1, 4) } });
  });
});
