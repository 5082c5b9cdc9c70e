import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processInvoicesJob } from '../../src/claiming/processInvoices.ts';
import { shardsCheck } from '../../src/invoice/deployedShards.ts';
import { newInvoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { FencedOut } from '../../src/locking/fence.ts';
import type { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { metric, noTelemetry } from '../../src/platform/telemetry.ts';
import { groupLockKey, type Job } from '../../src/runs/job.ts';
import type { RunRecord } from '../../src/runs/runRecord.ts';
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

function running({ locks, clock, telemetry }: VirtualLocks, instance = 'host-a', store = runs) {
  return { locks, clock, telemetry, instance, runs: store };
}

/** The record of the run whose timer tick threw. */
async function recordOf(job: Job, error: unknown): Promise<RunRecord | undefined> {
  const runId = /^run (\S+) of/.exec((error as Error).message)?.[1] ?? '';
  return runs.read(job.name, runId);
}

const failureOf = (run: Promise<unknown>) =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('runScheduled', () => {
  test('works through every group and leaves a record that adds up', async () => {
    const { job, processed } = aJob({ '0': 2, '1': 3 });
    const { runId, groups } = await runScheduled(job, running(virtualLocks()));
    expect(processed).toHaveLength(5);
    expect(groups).toMatchObject({ '0': { status: 'completed', counts: { done: 2 } } });
    expect(await runs.read('count', runId)).toMatchObject({
      trigger: 'timer',
      status: 'completed',
      completedAt: expect.any(String),
      lockOwner: 'host-a',
      fence: expect.any(Number),
      groups: { '0': { counts: { done: 2 } }, '1': { counts: { done: 3 }, lockOwner: 'host-a' } },
    });
  });

  test('a tick with nothing to do leaves no record', async () => {
    const { job } = aJob({ '0': 0 });
    const { runId, groups } = await runScheduled(job, running(virtualLocks()));
    expect(groups['0']).toMatchObject({ status: 'completed', counts: {} });
    expect(await runs.read('count', runId)).toBeUndefined();
  });

  test('of two instances that tick at the same time each group is worked by one', async () => {
    const gate = Promise.withResolvers<void>();
    const { job, processed } = aJob({ '0': 2, '1': 2, '2': 2, '3': 2 }, () => gate.promise);
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const both = [runScheduled(job, running(first, 'host-a')), runScheduled(job, running(second, 'host-b'))];
    // Whoever came second to a group has found it held by now: its tick ends only with its own groups.
    await expect
      .poll(() => [...first.calls, ...second.calls].filter((call) => call === 'acquire').length)
      .toBe(8);
    gate.resolve();
    const outcomes = await Promise.all(both);
    for (const group of job.groups) {
      expect(new Set(outcomes.map(({ groups }) => groups[group]?.status))).toEqual(
        new Set(['completed', 'skipped']),
      );
    }
    expect(new Set(processed).size).toBe(8);
    expect(processed).toHaveLength(8);
  });

  test('a group that is held elsewhere is passed by, with the reason', async () => {
    const world = virtualLocks();
    const other = virtualLocks({}, world);
    await using _held = await other.locks.acquire(
      groupLockKey('count', '1'),
      { instance: 'host-b', job: 'count' },
      { waitMs: 0 },
    );
    const { job, processed } = aJob({ '0': 1, '1': 1 });
    const { groups } = await runScheduled(job, running(world));
    expect(groups['1']).toEqual({ status: 'skipped', counts: {}, reason: 'held elsewhere' });
    expect(processed).toEqual(['0:0']);
    // The tick as a whole has completed: a lease that is held for ever shows in its group alone.
    const ended = world.telemetry.reports.filter(({ name }) => name === metric.runGroupEnded);
    expect(ended.map(({ attributes }) => attributes)).toEqual([
      { job: 'count', group: '0', status: 'completed' },
      { job: 'count', group: '1', status: 'skipped' },
    ]);
  });

  test('a lease that is lost in the middle: nothing is done after it, and the record says why', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 5 }, (piece) => {
      if (piece === '0:2') world.clock.stall(120_000);
    });
    const error = await failureOf(runScheduled(job, running(world)));
    expect(processed).toEqual(['0:0', '0:1']);
    expect(await recordOf(job, error)).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/^lost: The lease on "jobs\/count\/0" is lost \(expired\)/),
      groups: { '0': { status: 'lost', counts: { done: 2 }, reason: expect.stringContaining('expired') } },
    });
  });

  test('a store that has seen a greater fence ends the group as lost', async () => {
    const { job } = aJob({ '0': 3 }, () => {
      throw new FencedOut('jobs/count/0', 1);
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks())));
    expect(await recordOf(job, error)).toMatchObject({
      groups: {
        '0': { status: 'lost', counts: {}, reason: expect.stringContaining('older than the store') },
      },
    });
  });

  test('a group that fails does not stop the others; the tick fails with its reason', async () => {
    const { job, processed } = aJob({ '0': 2, '1': 2 }, (piece) => {
      if (piece === '0:1') throw new Error('out of paper');
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks())));
    expect(String(error)).toContain('failed: out of paper');
    expect(processed.toSorted()).toEqual(['0:0', '1:0', '1:1']);
    expect(await recordOf(job, error)).toMatchObject({
      status: 'failed',
      groups: { '0': { status: 'failed', counts: { done: 1 } }, '1': { status: 'completed' } },
    });
  });

  test('a piece after which more had better wait: the group stops, what it did counts, and the tick fails', async () => {
    const { job, processed } = aJob({ '0': 3, '1': 1 });
    const jammed: Job = {
      ...job,
      async process(piece, run) {
        const done = await job.process(piece, run);
        return run.group === '0' ? { ...done, stop: 'the queue is away' } : done;
      },
    };
    const error = await failureOf(runScheduled(jammed, running(virtualLocks())));
    expect(String(error)).toContain('failed: the queue is away');
    expect(processed.toSorted()).toEqual(['0:0', '1:0']);
    expect(await recordOf(job, error)).toMatchObject({
      groups: {
        '0': { status: 'failed', counts: { done: 1 }, reason: 'the queue is away' },
        '1': { status: 'completed' },
      },
    });
  });

  test('a piece that had to stop since the process stood still: the lease is what was lost', async () => {
    const world = virtualLocks();
    const { job } = aJob({ '0': 3 });
    const stalled: Job = {
      ...job,
      async process() {
        world.clock.stall(120_000);
        return { counts: { done: 1 }, stop: 'the send was aborted' };
      },
    };
    const error = await failureOf(runScheduled(stalled, running(world)));
    expect(await recordOf(job, error)).toMatchObject({
      reason: expect.stringMatching(/^lost: .* \(expired\)/),
      groups: { '0': { status: 'lost', counts: { done: 1 } } },
    });
  });

  test('a record that cannot be created: all is done without it, and the tick says so', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 2 }, () => world.clock.stall(2_500));
    const store = { ...runs, create: () => Promise.reject(new Error('the store is full')) };
    const tick = await runScheduled(job, running(world, 'host-a', store));
    expect(processed).toEqual(['0:0', '0:1']);
    expect(tick).toMatchObject({
      groups: { '0': { status: 'completed', counts: { done: 2 } } },
      unrecorded: 'its record could not be created: the store is full',
    });
    // Before each of the two pieces, at the end of the group, and at the end of the run.
    expect(world.telemetry.values(metric.runReportFailed)).toHaveLength(4);
    expect(await runs.read('count', tick.runId)).toBeUndefined();
  });

  test('the next report creates a record that could not be created before', async () => {
    let refusals = 1;
    const store: RunStore = {
      ...runs,
      create: (record) =>
        refusals-- > 0 ? Promise.reject(new Error('the store is full')) : runs.create(record),
    };
    const { job } = aJob({ '0': 1 });
    const { runId, unrecorded } = await runScheduled(job, running(virtualLocks(), 'host-a', store));
    expect(unrecorded).toBeUndefined();
    expect(await runs.read('count', runId)).toMatchObject({
      status: 'completed',
      groups: { '0': { counts: { done: 1 } } },
    });
  });

  test.each(['429', '503'])(
    'records that cannot be written from the middle of the run on (%s): all is done all the same',
    async (kind) => {
      const world = virtualLocks();
      const { job, processed } = aJob({ '0': 3, '1': 1 }, async (piece) => {
        world.clock.stall(2_500);
        if (piece === '0:0') await cosmos.fault({ kind, count: 1_000, filter: { container: 'runs' } });
      });
      const { runId, groups, unrecorded } = await runScheduled(job, running(world));
      await cosmos.clearFaults();
      expect(processed.toSorted()).toEqual(['0:0', '0:1', '0:2', '1:0']);
      expect(groups).toMatchObject({ '0': { status: 'completed' }, '1': { status: 'completed' } });
      expect(unrecorded).toContain('its record could not be ended');
      expect(world.telemetry.values(metric.runReportFailed).length).toBeGreaterThan(0);
      expect(await runs.read('count', runId)).toMatchObject({ status: 'running' });
    },
  );

  test('a group that failed is the reason of the tick, and a record that could not be ended is said beside it', async () => {
    const store = { ...runs, end: () => Promise.reject(new Error('the store is away')) };
    const { job } = aJob({ '0': 1 }, () => {
      throw new Error('out of paper');
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks(), 'host-a', store)));
    expect(String(error)).toContain('out of paper (and its record could not be ended: the store is away)');
  });

  test('a group whose lease cannot be had for a fault does not cut the others short', async () => {
    const world = virtualLocks();
    let acquires = 0;
    world.network.fault = (operation) =>
      operation === 'acquire' && acquires++ < 3 ? { kind: 'status', status: 503 } : { kind: 'none' };
    const { job, processed } = aJob({ '0': 1, '1': 2 });
    const tick = failureOf(runScheduled(job, running(world)));
    for (let n = 0; n < 20; n++) await world.clock.advance(1_000);
    await tick;
    expect(processed.filter((piece) => piece.startsWith('1')).length).toBe(2);
  });

  test('a signal ends it after the current piece', async () => {
    const stop = new AbortController();
    const { job, processed } = aJob({ '0': 5 }, () => stop.abort());
    const error = await failureOf(runScheduled(job, running(virtualLocks()), stop.signal));
    expect(processed).toEqual(['0:0']);
    expect(String(error)).toContain('the host is stopping');
  });

  test('a tick that takes too long ends before the host ends the process, and that is no failure', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 50, '1': 1 }, (piece) =>
      piece.startsWith('0') ? world.clock.advance(60_000) : undefined,
    );
    const { runId, groups } = await runScheduled(job, running(world));
    // Nine minutes and a half of ten: the tenth piece began in time and was brought to its end.
    expect(processed.filter((piece) => piece.startsWith('0'))).toHaveLength(10);
    const partial = { status: 'partial', counts: { done: 10 }, reason: 'time is up: the next run goes on' };
    expect(groups).toMatchObject({ '0': partial, '1': { status: 'completed' } });
    expect(await runs.read('count', runId)).toMatchObject({
      status: 'completed',
      reason: 'partial: time is up: the next run goes on',
      groups: { '0': partial },
    });
    expect(world.telemetry.reports).toContainEqual(
      expect.objectContaining({
        name: metric.runEnded,
        attributes: expect.objectContaining({ status: 'completed' }),
      }),
    );
  });

  test('a run that is cancelled stops at its next sign of life, and has not failed', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 50 }, async (_piece, { runId }) => {
      const at = new Date(0).toISOString();
      await runs.end({ job: 'count', runId }, { status: 'cancelled', reason: 'wrong day', at });
      world.clock.stall(2_500);
    });
    const { runId } = await runScheduled(job, running(world));
    expect(processed).toHaveLength(1);
    expect(await runs.read('count', runId)).toMatchObject({ status: 'cancelled', reason: 'wrong day' });
    const ended = world.telemetry.reports.filter(({ name }) => name === metric.runEnded);
    expect(ended.map(({ attributes }) => attributes.status)).toEqual(['cancelled']);
  });
});

test('two instances claim every invoice once between them, fenced and dispatched', async () => {
  const container = cosmos.containers.invoices;
  const options = { shards: 8, groups: 4, batchSize: 10, claimStaleMs: 300_000 };
  for (let n = 0; n < 120; n++) {
    const content = {
      id: `i${n}`,
      customerId: 'c',
      amountMinor: 100,
      currency: 'USD',
      paymentMethod: 'pm',
      dueAt: '2026-01-01T00:00:00.000Z',
    };
    await container.items.create({
      ...newInvoice(content, { shard: shardOf(content.id, options.shards), at: content.dueAt, by: 'test' }),
    });
  }
  const dispatched: string[] = [];
  const dispatcher: Dispatcher = {
    async dispatch({ body }) {
      dispatched.push(...paymentBatchSchema.parse(body).commands.map(({ invoiceId }) => invoiceId));
      return { kind: 'dispatched' };
    },
  };
  const job = processInvoicesJob({
    container,
    dispatcher,
    clock: systemClock,
    telemetry: noTelemetry,
    onUnreadable() {},
    checkShards: shardsCheck(container, options.shards),
    notifies: false,
    ...options,
  });
  const first = virtualLocks();
  const second = virtualLocks({}, first);
  const outcomes = await Promise.all([
    runScheduled(job, { ...running(first, 'host-a'), clock: systemClock }),
    runScheduled(job, { ...running(second, 'host-b'), clock: systemClock }),
  ]);
  const claimed = outcomes
    .flatMap(({ groups }) => Object.values(groups))
    .reduce((sum, { counts }) => sum + (counts.claimed ?? 0), 0);
  expect(claimed).toBe(120);
  expect(new Set(dispatched).size).toBe(120);
  expect(dispatched).toHaveLength(120);
});

test('with another number of shards than the deployment began with nothing is claimed, and the run says what to do', async () => {
  const container = cosmos.containers.invoices;
  await shardsCheck(container, 8)();
  const job = processInvoicesJob({
    container,
    dispatcher: { dispatch: () => Promise.reject(new Error('nothing is dispatched')) },
    clock: systemClock,
    telemetry: noTelemetry,
    onUnreadable() {},
    checkShards: shardsCheck(container, 16),
    shards: 16,
    groups: 2,
    batchSize: 10,
    claimStaleMs: 300_000,
    notifies: false,
  });
  const error = await failureOf(runScheduled(job, running(virtualLocks())));
  expect(await recordOf(job, error)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining(
      'SHARDS is 16, but the invoices of this deployment are stored in 8 shards',
    ),
    groups: { '0': { status: 'failed', counts: {} }, '1': { status: 'failed', counts: {} } },
  });
});
