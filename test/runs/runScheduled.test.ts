import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FencedOut } from '../../packages/jobs/src/claims/fence.ts';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { createSender, type Dispatcher } from '../../packages/jobs/src/outbox/dispatcher.ts';
import { cosmosRunStore } from '../../packages/jobs/src/runs/cosmosRunStore.ts';
import { defineJob, Idle, type Job } from '../../packages/jobs/src/runs/job.ts';
import type { RunRecord } from '../../packages/jobs/src/runs/runRecord.ts';
import { runScheduled } from '../../packages/jobs/src/runs/runScheduled.ts';
import type { RunStore } from '../../packages/jobs/src/runs/runStore.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { jobLockKey } from '../../packages/leases/src/index.ts';
import { partMetric } from '../../packages/leases/src/telemetry.ts';
import { processInvoicesJob } from '../../src/claiming/processInvoices.ts';
import { shardOf, shardsCheck } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { newInvoice, sendingStore } from '../../src/invoice/store/invoiceWrites.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { aJob } from '../support/aJob.ts';
import { anInstance } from '../support/anInstance.ts';
import { followUpsForTests } from '../support/payingWorld.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { fastPayments, plentyOfRoom } from '../support/plentyOfRoom.ts';
import { type VirtualLocks, virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
let runs: RunStore;
beforeAll(async () => {
  cosmos = await payonceCosmos();
  runs = cosmosRunStore(cosmos.containers.runs);
});
afterAll(() => cosmos[Symbol.asyncDispose]());

function running({ locks, clock, telemetry }: VirtualLocks, name = 'host-a', store = runs) {
  return { locks, runs: store, instance: anInstance({ name, clock, telemetry }) };
}

/** The record of the run whose tick threw. */
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
  test('processes every group and leaves a record that adds up', async () => {
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

  test('a job may wait for work: nothing is done meanwhile, and the wait ends when the process stops', async () => {
    const world = virtualLocks();
    const stopping = new AbortController();
    const times: number[] = [];
    const job = defineJob<string>({
      name: 'count',
      groups: ['0'],
      async *plan() {
        yield new Idle(5_000);
        yield 'piece';
        yield new Idle(3_600_000);
        yield 'never';
      },
      async process() {
        times.push(world.clock.monotonic());
        return { counts: { done: 1 } };
      },
      preview: () => ({}),
    });
    const started = world.clock.monotonic();
    const outcome = failureOf(runScheduled(job, running(world), stopping.signal));
    // Reports go to a real store in real time.
    await expect
      .poll(async () => {
        await world.clock.advance(1_000);
        return times.length;
      })
      .toBe(1);
    stopping.abort(new Error('stopping'));
    expect((times[0] ?? 0) - started).toBeGreaterThanOrEqual(5_000);
    expect(times).toHaveLength(1);
    expect(await recordOf(job, await outcome)).toMatchObject({
      groups: { '0': { status: 'failed', counts: { done: 1 }, reason: 'the host is stopping' } },
    });
  });

  test('a piece that fails does not stop those after it, and the group counts as failed', async () => {
    const job = defineJob<string>({
      name: 'count',
      groups: ['0'],
      async *plan() {
        yield* ['a', 'b', 'c'];
      },
      process: async (piece) =>
        piece === 'b' ? { counts: {}, failed: 'shard 01: away' } : { counts: { done: 1 } },
      preview: () => ({}),
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks())));
    expect(await recordOf(job, error)).toMatchObject({
      groups: { '0': { status: 'failed', counts: { done: 2 }, reason: 'shard 01: away' } },
    });
  });

  test('if two instances tick at the same time, each group is processed by one of them', async () => {
    const gate = Promise.withResolvers<void>();
    const { job, processed } = aJob({ '0': 2, '1': 2, '2': 2, '3': 2 }, () => gate.promise);
    const first = virtualLocks();
    const second = virtualLocks({}, first);
    const both = [runScheduled(job, running(first, 'host-a')), runScheduled(job, running(second, 'host-b'))];
    // By now the second to reach a group has found its lease held, and its tick ends only with its own groups.
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

  test('skips a group whose lease is held elsewhere, and says why', async () => {
    const world = virtualLocks();
    const other = virtualLocks({}, world);
    await using _held = await other.locks.acquire(
      jobLockKey('count', '1'),
      { instance: 'host-b', job: 'count' },
      { waitMs: 0 },
    );
    const { job, processed } = aJob({ '0': 1, '1': 1 });
    const { groups } = await runScheduled(job, running(world));
    expect(groups['1']).toEqual({ status: 'skipped', counts: {}, reason: 'held elsewhere' });
    expect(processed).toEqual(['0:0']);
    // The tick as a whole has completed: a lease that is held for ever shows up only in its group.
    const ended = world.telemetry.reports.filter(({ name }) => name === partMetric.runGroupEnded);
    expect(ended.map(({ attributes }) => attributes)).toEqual([
      { job: 'count', group: '0', status: 'completed' },
      { job: 'count', group: '1', status: 'skipped' },
    ]);
  });

  test('a lease lost midway: nothing more is processed, and the record says why', async () => {
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

  test('a fence that is older than the store has seen ends the group as lost', async () => {
    const { job } = aJob({ '0': 3 }, () => {
      throw new FencedOut({ lockKey: 'jobs/count/0', token: 1 });
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks())));
    expect(await recordOf(job, error)).toMatchObject({
      groups: {
        '0': { status: 'lost', counts: {}, reason: expect.stringContaining('older than the store') },
      },
    });
  });

  test('a failed group does not stop the others, and the tick fails with its reason', async () => {
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

  test('a piece that asks to stop ends its group: its counts are kept, and the tick fails', async () => {
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

  test('a job that is on hold ends its group as partial: nothing has failed, and the next run goes on', async () => {
    const { job, processed } = aJob({ '0': 3, '1': 1 });
    const onHold: Job = {
      ...job,
      async process(piece, run) {
        if (run.group === '0' && processed.includes('0:0'))
          return { counts: {}, held: 'payments are paused' };
        return job.process(piece, run);
      },
    };
    const { runId } = await runScheduled(onHold, running(virtualLocks()));
    expect(processed.toSorted()).toEqual(['0:0', '1:0']);
    expect(await runs.read(job.name, runId)).toMatchObject({
      groups: {
        '0': { status: 'partial', counts: { done: 1 }, reason: 'payments are paused' },
        '1': { status: 'completed' },
      },
    });
  });

  test('if a piece asks to stop because the process was paused, the reason is the lost lease', async () => {
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

  test('a record that cannot be created: the work is done without it', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 2 }, () => world.clock.stall(2_500));
    const store = { ...runs, create: () => Promise.reject(new Error('the store is full')) };
    const tick = await runScheduled(job, running(world, 'host-a', store));
    expect(processed).toEqual(['0:0', '0:1']);
    expect(tick).toMatchObject({
      groups: { '0': { status: 'completed', counts: { done: 2 } } },
    });
    // Before each of the two pieces, and at the end of the group.
    expect(world.telemetry.values(partMetric.runReportFailed)).toHaveLength(3);
    expect(await runs.read('count', tick.runId)).toBeUndefined();
  });

  test('the next report creates a record that could not be created earlier', async () => {
    let refusals = 1;
    const store: RunStore = {
      ...runs,
      create: (record) =>
        refusals-- > 0 ? Promise.reject(new Error('the store is full')) : runs.create(record),
    };
    const { job } = aJob({ '0': 1 });
    const { runId } = await runScheduled(job, running(virtualLocks(), 'host-a', store));
    expect(await runs.read('count', runId)).toMatchObject({
      status: 'completed',
      groups: { '0': { counts: { done: 1 } } },
    });
  });

  test.each(['429', '503'])(
    'a record that cannot be written from midway on (%s): the work is done all the same',
    async (kind) => {
      const world = virtualLocks();
      const { job, processed } = aJob({ '0': 3, '1': 1 }, async (piece) => {
        world.clock.stall(2_500);
        if (piece === '0:0') await cosmos.fault({ kind, count: 1_000, filter: { container: 'runs' } });
      });
      const { runId, groups } = await runScheduled(job, running(world));
      await cosmos.clearFaults();
      expect(processed.toSorted()).toEqual(['0:0', '0:1', '0:2', '1:0']);
      expect(groups).toMatchObject({ '0': { status: 'completed' }, '1': { status: 'completed' } });
      expect(world.telemetry.values(partMetric.runReportFailed).length).toBeGreaterThan(0);
      expect(await runs.read('count', runId)).toMatchObject({ status: 'running' });
    },
  );

  test('the tick fails with the reason of its failed group, even if its record cannot be ended', async () => {
    const store = { ...runs, end: () => Promise.reject(new Error('the store is away')) };
    const { job } = aJob({ '0': 1 }, () => {
      throw new Error('out of paper');
    });
    const error = await failureOf(runScheduled(job, running(virtualLocks(), 'host-a', store)));
    expect(String(error)).toContain('out of paper');
  });

  test('a fault while taking the lease of one group does not affect the other groups', async () => {
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

  test('a signal stops it after the current piece', async () => {
    const stop = new AbortController();
    const { job, processed } = aJob({ '0': 5 }, () => stop.abort());
    const error = await failureOf(runScheduled(job, running(virtualLocks()), stop.signal));
    expect(processed).toEqual(['0:0']);
    expect(String(error)).toContain('the host is stopping');
  });

  test('a tick that takes too long ends before the host kills the process, which is not a failure', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 50, '1': 1 }, (piece) =>
      piece.startsWith('0') ? world.clock.advance(60_000) : undefined,
    );
    const { runId, groups } = await runScheduled(job, running(world));
    // Nine and a half minutes of ten: the tenth piece began in time and was finished.
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
        name: partMetric.runEnded,
        attributes: expect.objectContaining({ status: 'completed' }),
      }),
    );
  });

  test('a cancelled run stops at its next report, and has not failed', async () => {
    const world = virtualLocks();
    const { job, processed } = aJob({ '0': 50 }, async (_piece, { runId }) => {
      const at = new Date(0).toISOString();
      await runs.end({ job: 'count', runId }, { status: 'cancelled', reason: 'wrong day', at });
      world.clock.stall(2_500);
    });
    const { runId } = await runScheduled(job, running(world));
    expect(processed).toHaveLength(1);
    expect(await runs.read('count', runId)).toMatchObject({ status: 'cancelled', reason: 'wrong day' });
    const ended = world.telemetry.reports.filter(({ name }) => name === partMetric.runEnded);
    expect(ended.map(({ attributes }) => attributes.status)).toEqual(['cancelled']);
  });
});

test('two instances together claim every invoice once, fenced and dispatched', async () => {
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
  const job = processInvoicesJob(
    {
      ...plentyOfRoom,
      invoices: sendingStore(
        cosmosInvoiceStore(container, { clock: systemClock, shards: options.shards }),
        createSender(dispatcher, systemClock),
      ),
      followUps: followUpsForTests,
      checkShards: shardsCheck(cosmosDocuments(container), options.shards),
      instance: anInstance(),
    },
    { ...options, callWindowMs: 210_000, ceiling: fastPayments },
  );
  const first = virtualLocks();
  const second = virtualLocks({}, first);
  const outcomes = await Promise.all([
    runScheduled(job, { locks: first.locks, runs, instance: anInstance({ name: 'host-a' }) }),
    runScheduled(job, { locks: second.locks, runs, instance: anInstance({ name: 'host-b' }) }),
  ]);
  const claimed = outcomes
    .flatMap(({ groups }) => Object.values(groups))
    .reduce((sum, { counts }) => sum + (counts.claimed ?? 0), 0);
  expect(claimed).toBe(120);
  expect(new Set(dispatched).size).toBe(120);
  expect(dispatched).toHaveLength(120);
});

test('if SHARDS has changed, nothing is claimed and the run says what to set', async () => {
  const container = cosmos.containers.invoices;
  await shardsCheck(cosmosDocuments(container), 8)();
  const job = processInvoicesJob(
    {
      ...plentyOfRoom,
      invoices: cosmosInvoiceStore(container, { clock: systemClock, shards: 16 }),
      followUps: followUpsForTests,
      checkShards: shardsCheck(cosmosDocuments(container), 16),
      instance: anInstance(),
    },
    {
      shards: 16,
      groups: 2,
      batchSize: 10,
      claimStaleMs: 300_000,
      callWindowMs: 210_000,
      ceiling: fastPayments,
    },
  );
  const error = await failureOf(runScheduled(job, running(virtualLocks())));
  expect(await recordOf(job, error)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining(
      'SHARDS is 16, but the invoices of this deployment are stored in 8 shards',
    ),
    groups: { '0': { status: 'failed', counts: {} }, '1': { status: 'failed', counts: {} } },
  });
});
