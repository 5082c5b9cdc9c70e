import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newFence } from '../../packages/jobs/src/claims/fence.ts';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import { createSender, type Dispatcher } from '../../packages/jobs/src/outbox/dispatcher.ts';
import { type GroupRun, Idle, type Processed, type RunCounts } from '../../packages/jobs/src/runs/job.ts';
import { runGroup } from '../../packages/jobs/src/runs/runGroup.ts';
import { LeaseLost } from '../../packages/leases/src/index.ts';
import { processInvoicesJob } from '../../src/claiming/processInvoices.ts';
import { sendingStore } from '../../src/invoice/store/invoiceWrites.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { anInstance } from '../support/anInstance.ts';
import { followUpsForTests, hastyClock, type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { fastPayments, plentyOfRoom } from '../support/plentyOfRoom.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const sends: Dispatcher = { dispatch: async () => ({ kind: 'dispatched' }) };
const key = 'jobs/process-invoices/0';
const run: GroupRun = {
  runId: 'run-1',
  group: '0',
  instance: 'host-a',
  lease: { key, fence: 5, signal: new AbortController().signal, assertHeld() {} },
};

const policy = {
  shards: 1,
  groups: 1,
  batchSize: 10,
  claimStaleMs: 300_000,
  callWindowMs: 210_000,
  ceiling: fastPayments,
};

/** Ids of the first test's invoices; later tests copy them. */
let stored: string[] = [];

/** Works through the job's only shard piece by piece, until a piece stops it. */
async function work(dispatcher: Dispatcher = sends, pause = plentyOfRoom.pause, lease = run.lease) {
  const telemetry = recordedTelemetry();
  const instance = anInstance({ clock: hastyClock, telemetry });
  const job = processInvoicesJob(
    {
      ...plentyOfRoom,
      pause,
      invoices: sendingStore(world.invoices, createSender(dispatcher, hastyClock)),
      followUps: followUpsForTests,
      instance,
      checkShards: async () => {},
    },
    policy,
  );
  const done: Processed[] = [];
  const previews: RunCounts[] = [];
  for await (const piece of job.plan('0', { dryRun: false })) {
    if (piece instanceof Idle) throw new Error('there is room, and no pause');
    previews.push(job.preview?.(piece) ?? {});
    const one = await job.process(piece, { ...run, lease });
    done.push(one);
    if (one.stop !== undefined || one.held !== undefined || one.lost !== undefined) break;
  }
  return { done, previews, telemetry };
}

describe('process-invoices', () => {
  test('every planned piece is claimed, and the preview matches', async () => {
    const { shard, ids } = await world.dueInvoices(12);
    stored = ids;
    expect(shard).toBe('00');
    const { done, previews, telemetry } = await work();
    expect(done.map(({ counts }) => counts.claimed)).toEqual([10, 2]);
    expect(previews).toEqual([
      { claimed: 10, 'amountMinor.USD': 10_045 },
      { claimed: 2, 'amountMinor.USD': 2_021 },
    ]);
    expect(telemetry.values(metric.invoiceClaims)).toEqual([10, 2]);
    expect((await world.stored(shard, ids)).every(({ status }) => status === 'claimed')).toBe(true);
  });

  test('while payments are paused nothing is claimed, and a dry run still counts', async () => {
    const due = ['paused-1', 'paused-2', 'paused-3'];
    const [like] = await world.stored('00', stored.slice(0, 1));
    for (const id of due) {
      const { claim: _, ...invoice } = { ...like, id, status: 'pending', attempts: 0 };
      await world.container.items.create({ ...invoice, actionableAt: '2026-01-01T00:00:00.000Z' });
    }
    const job = processInvoicesJob(
      {
        ...plentyOfRoom,
        pause: { look: async () => {}, gate: () => 'paused' },
        invoices: world.invoices,
        followUps: followUpsForTests,
        instance: anInstance({ clock: hastyClock }),
        checkShards: async () => {},
      },
      policy,
    );
    const previewed = await Array.fromAsync(job.plan('0', { dryRun: true }));
    expect(previewed.map((piece) => job.preview?.(piece))).toEqual([
      { claimed: 3, 'amountMinor.USD': 3_000 },
    ]);
    expect((await work(sends, { look: async () => {}, gate: () => 'paused' })).done).toEqual([
      { counts: {}, held: 'payments are paused, or it is not known whether they are' },
    ]);
    expect((await world.stored('00', due)).every(({ status }) => status === 'pending')).toBe(true);
    expect((await work()).done.map(({ counts }) => counts.claimed)).toEqual([3]);
  });

  test('a dry run that cannot read a shard to its end has failed', async () => {
    const [like] = await world.stored('00', stored.slice(0, 1));
    const instance = anInstance({ clock: hastyClock });
    const job = processInvoicesJob(
      {
        ...plentyOfRoom,
        invoices: {
          ...world.invoices,
          async *due() {
            if (like !== undefined) yield [{ ...like, status: 'pending' as const }];
            throw new Error('the store is away');
          },
        },
        followUps: followUpsForTests,
        instance,
        checkShards: async () => {},
      },
      policy,
    );
    const { locks } = virtualLocks();
    await using lease = await locks.acquire(key, { instance: run.instance, job: job.name }, { waitMs: 0 });
    const group = { job, group: '0', runId: run.runId, dryRun: true, lease };
    expect(await runGroup(group, { instance, report: async () => true })).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('shard 00: the store is away'),
    });
  });

  test.each(['paused', 'unknown'] as const)(
    'no claim is sent that took until the pause is %s',
    async (gate) => {
      const { ids } = await world.dueInvoices(1, { shard: '00' });
      const { done } = await work(sends, { look: async () => {}, gate: () => gate });
      expect(done).toEqual([
        { counts: {}, held: 'payments are paused, or it is not known whether they are' },
      ]);
      const [left] = await world.stored('00', ids);
      expect(left?.status).toBe('pending');
      expect((await work()).done.map(({ counts }) => counts.claimed)).toEqual([1]);
    },
  );

  test('a run that has lost its lease claims nothing', async () => {
    const { ids } = await world.dueInvoices(1, { shard: '00' });
    const lost = {
      ...run.lease,
      assertHeld() {
        throw new LeaseLost(key, { reason: 'taken', detail: 'another host has it' });
      },
    };
    await expect(work(sends, plentyOfRoom.pause, lost)).rejects.toThrow(LeaseLost);
    const [left] = await world.stored('00', ids);
    expect(left?.status).toBe('pending');
    expect((await work()).done.map(({ counts }) => counts.claimed)).toEqual([1]);
  });

  test('a process that has not looked at the pause yet looks before it claims', async () => {
    const [like] = await world.stored('00', stored.slice(0, 1));
    const { claim: _, ...invoice } = { ...like, id: 'first-look', status: 'pending', attempts: 0 };
    await world.container.items.create({ ...invoice, actionableAt: '2026-01-01T00:00:00.000Z' });
    let seen = false;
    const look = async () => {
      seen = true;
    };
    const { done } = await work(sends, { look, gate: () => (seen ? 'open' : 'unknown') });
    expect(done.map(({ counts }) => counts.claimed)).toEqual([1]);
  });

  test('it stops claiming once no message gets through', async () => {
    const { container } = world;
    const due = Array.from({ length: 30 }, (_, n) => `jam-${n}`);
    const [like] = await world.stored('00', stored.slice(0, 1));
    for (const id of due) {
      const { claim: _, ...invoice } = { ...like, id, status: 'pending', attempts: 0 };
      await container.items.create({ ...invoice, actionableAt: '2026-01-01T00:00:00.000Z' });
    }
    const away: Dispatcher = {
      dispatch: async () => ({ kind: 'retry', attempts: 1, at: '', error: 'the broker is away' }),
    };
    const { done } = await work(away);
    expect(done).toEqual([
      {
        counts: expect.objectContaining({ claimed: 10 }),
        stop: 'payment commands cannot be sent: the broker is away',
      },
    ]);
    const statuses = (await world.stored('00', due)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 'claimed')).toHaveLength(10);
    expect((await work()).done.map(({ counts }) => counts.claimed)).toEqual([10, 10]);
  });

  test('a stale fence token: the refused claim is counted, and the group is lost', async () => {
    await cosmosDocuments(world.container).transact('00', [newFence(key, '00')]);
    const [fence] = (
      await world.container.items
        .query<{ id: string }>(`SELECT c.id FROM c WHERE c.type = 'fence'`)
        .fetchAll()
    ).resources;
    await world.container
      .item(fence?.id ?? '', '00')
      .patch([{ op: 'set', path: '/fence', value: run.lease.fence + 1 }]);
    const [like] = await world.stored('00', stored.slice(1, 2));
    const { claim: _, ...invoice } = { ...like, id: 'late', status: 'pending', attempts: 0 };
    await world.container.items.create({ ...invoice, actionableAt: '2026-01-01T00:00:00.000Z' });
    const { done, telemetry } = await work();
    expect(done).toEqual([
      { counts: { fencedOut: 1 }, lost: expect.stringContaining('older than the store has seen') },
    ]);
    expect(telemetry.values(metric.invoiceClaims)).toEqual([1]);
    expect((await world.stored('00', ['late']))[0]).toMatchObject({ status: 'pending' });
  });
});
