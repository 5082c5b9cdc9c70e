import { randomUUID } from 'node:crypto';
import type { FollowUps } from '../followUps/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { shardsOfGroup } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Tally } from '../locking/fence.ts';
import { FencedOut, jobLockKey, type Lease, LeaseLost } from '../locking/index.ts';
import type { Dispatcher } from '../outbox/dispatcher.ts';
import type { OutboxMessage } from '../outbox/outboxMessage.ts';
import { createClaimRoom, type RoomPolicy, unlimitedRoom } from '../pacing/claimRoom.ts';
import type { HeadBoard } from '../pacing/headBoard.ts';
import type { PaceStore } from '../pacing/paceStore.ts';
import type { PauseWatch } from '../pacing/pause.ts';
import { metric } from '../platform/appMetrics.ts';
import { paceLimits } from '../platform/azureNames.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { type Counts, defineJob, type GroupRun, type Job, OnHold, type Processed } from '../runs/job.ts';
import { addCounts } from '../runs/runRecord.ts';
import { nextBatch } from './batchesOf.ts';
import { type ClaimCounts, decideClaim, noClaims, planClaims } from './planClaims.ts';
import { type ClaimWork, planDue } from './planDue.ts';

type Claim = Extract<ClaimWork, { kind: 'claim' }>;

/** Batches in one page of due invoices: more means fewer queries and slightly older data. */
const batchesPerPage = 4;

export interface ClaimingPolicy extends RoomPolicy {
  shards: number;
}

export interface ProcessInvoicesParts {
  invoices: Pick<InvoiceStore, 'due' | 'claim' | 'openClaims' | 'tallies'>;
  /** The schedule of the payments, by which the claims keep to what can be paid soon. */
  pace: PaceStore;
  heads: HeadBoard;
  /** While payments are paused nothing is claimed. */
  pause: Pick<PauseWatch, 'why'>;
  dispatcher: Dispatcher;
  followUps: FollowUps;
  instance: Instance;
  /** Asked before anything is planned. @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
}

const jobName = 'process-invoices';

/** The job that claims every due invoice and orders its payment through the outbox. The consumer pays it (paying/). */
export function processInvoicesJob(parts: ProcessInvoicesParts, policy: ClaimingPolicy): Job {
  const { invoices, dispatcher, pace, pause, heads, instance, checkShards } = parts;
  const { clock, telemetry } = instance;
  const { shards, groups, batchSize } = policy;
  const tallies = new Map<string, Tally>(); // What the latest run has done, by shard.
  return defineJob<ClaimWork>({
    name: jobName,
    groups: Array.from({ length: groups }, (_, group) => `${group}`),

    async *plan(group, { dryRun }) {
      await checkShards();
      const room = createClaimRoom(
        { openClaims: (now) => invoices.openClaims(now), pace, clock },
        paceLimits.charges,
        policy,
      );
      const due = planDue(
        { invoices, clock, heads, room: dryRun ? unlimitedRoom(batchSize) : room },
        {
          group,
          shards: shardsOfGroup(Number(group), { shards, groups }),
          pageSize: batchSize * batchesPerPage,
          cut: (page, size) => nextBatch(page, size, batchSize),
        },
      );
      for await (const piece of due) {
        const why = dryRun ? undefined : await pause.why();
        if (why !== undefined) {
          yield new OnHold(why);
          return;
        }
        yield piece;
      }
    },

    async process(work, run) {
      if (work.kind === 'unreadable') return { counts: {}, failed: work.error };
      try {
        return await claimAndDispatch(work, run);
      } catch (error) {
        if (error instanceof LeaseLost) throw error;
        if (error instanceof FencedOut) {
          const counts = { fencedOut: work.invoices.length };
          countOutcomes(counts);
          return { counts, lost: error.message };
        }
        work.leaveOut();
        return { counts: {}, failed: `shard ${work.shard}: ${errorText(error)}` };
      }
    },

    async done(group, runId, { resumes = false } = {}) {
      let sum: Counts = {};
      for (const { shard, counts } of await invoices.tallies(jobLockKey(jobName, group), runId)) {
        if (resumes) tallies.set(shard, { runId, counts });
        sum = addCounts(sum, counts);
      }
      return sum;
    },

    preview(work) {
      const previewed = work.kind === 'claim' ? work.invoices : [];
      const now = new Date(clock.now()).toISOString();
      const counts: Record<string, number> = {};
      for (const invoice of previewed) {
        const name = previewName[decideClaim(invoice, now).kind];
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts satisfies Counts;
    },
  });

  async function claimAndDispatch({ shard, invoices: read }: Claim, run: GroupRun): Promise<Processed> {
    const known = tallies.get(shard);
    const done = { counts: known?.runId === run.runId ? known.counts : {}, final: run.resumable !== true };
    const claimed = await claimBatch({ ...parts, ...policy }, shard, read, { ...run, done });
    const { counts, message, tally } = claimed;
    if (tally !== undefined) tallies.set(shard, tally);
    countOutcomes({ ...counts });
    if (counts.parked > 0) telemetry.count(metric.invoiceParked, { unknown: true }, counts.parked);
    if (message === undefined) return { counts: { ...counts } };
    const decision = await dispatcher.dispatch(message, () => run.lease.assertHeld());
    if (decision.kind !== 'retry') return { counts: { ...counts } };
    // Claims made while no message gets through would only go stale: they are better left to the next run.
    return { counts: { ...counts }, stop: `payment commands cannot be sent: ${decision.error}` };
  }

  function countOutcomes(counts: Counts): void {
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) telemetry.count(metric.invoiceClaims, { outcome }, count);
    }
  }
}

const previewName = { claim: 'claimed', reclaim: 'reclaimed', park: 'parked', skip: 'notDue' } as const;

export interface ClaimedBatch {
  counts: ClaimCounts;
  /** The order of the payments, to be dispatched now; absent if nothing was claimed. */
  message?: OutboxMessage;
  /** What the run has then done in this shard, if it is counted. */
  tally?: Tally;
}

/** On whose behalf a batch is claimed: a run, under the lease of its group. */
export interface ClaimingRun {
  runId: string;
  instance: string;
  lease: Pick<Lease, 'key' | 'fence' | 'assertHeld'>;
  /** What the run has done in this shard before, if it is to be counted. */
  done?: Pick<Tally, 'counts' | 'final'>;
}

export interface ClaimingParts {
  invoices: Pick<InvoiceStore, 'claim'>;
  followUps: FollowUps;
  claimStaleMs: number;
}

/**
 * Claims up to a batch of invoices of one shard in one transaction: each claim conditional on the invoice as it was read,
 * the outbox message with a command for each, and the check of the fence.
 *
 * @throws {FencedOut} another holder of the lease has written to this shard already
 */
export async function claimBatch(
  { invoices, followUps, claimStaleMs }: ClaimingParts,
  shard: string,
  read: readonly Invoice[],
  { runId, instance, lease, done }: ClaimingRun,
): Promise<ClaimedBatch> {
  const batchId = randomUUID();
  const claimant = { runId, instance, fence: lease.fence };
  const { written, contended } = await invoices.claim({
    shard,
    batchId,
    invoices: read,
    fence: { lockKey: lease.key, token: lease.fence },
    plan: (unchanged, now) =>
      planClaims(unchanged, { batchId, shard, now, claimStaleMs, claimant, followUps, done }),
    assertHeld: () => lease.assertHeld(),
  });
  if (written === undefined) return { counts: { ...noClaims, contended } };
  const message = written.messages.find(({ id }) => id === batchId);
  const { counts, tally } = written.plan;
  return {
    counts: { ...counts, contended },
    ...(tally === undefined ? {} : { tally }),
    ...(message === undefined ? {} : { message }),
  };
}
