import type { FollowUps } from '../followUps/followUps.ts';
import { shardsOfGroup } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Tally } from '../locking/fence.ts';
import { FencedOut, jobLockKey, LeaseLost } from '../locking/index.ts';
import { createClaimRoom, type RoomPolicy, unlimitedRoom } from '../pacing/claimRoom.ts';
import type { PauseWatch } from '../pacing/pause.ts';
import type { PaceStore } from '../pacing/schedule.ts';
import { metric } from '../platform/appMetrics.ts';
import { jobNames, paceLimits } from '../platform/azureNames.ts';
import { errorText } from '../platform/errorText.ts';
import type { Instance } from '../platform/instance.ts';
import { type Counts, defineJob, type GroupRun, type Job, type Processed } from '../runs/job.ts';
import { addCounts } from '../runs/runRecord.ts';
import { claimBatch } from './claimBatch.ts';
import { decideClaim } from './planClaims.ts';
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
  /** While payments are paused nothing is claimed. */
  pause: Pick<PauseWatch, 'look' | 'gate'>;
  followUps: FollowUps;
  instance: Instance;
  /** Asked before anything is planned. @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
}

/** A claim took so long that a pause may have begun before it could be sent. */
class MaybePaused extends Error {
  override readonly name = 'MaybePaused';
}

/** The job that claims every due invoice and orders its payment through the outbox. The consumer pays it (paying/). */
export function processInvoicesJob(parts: ProcessInvoicesParts, policy: ClaimingPolicy): Job {
  const { invoices, pace, pause, instance, checkShards } = parts;
  const { clock, telemetry } = instance;
  const { shards, groups, batchSize } = policy;
  const tallies = new Map<string, Tally>(); // What the latest run has done, by shard.
  return defineJob<ClaimWork>({
    name: jobNames.payments,
    groups: Array.from({ length: groups }, (_, group) => `${group}`),

    async *plan(group, { dryRun }) {
      await checkShards();
      const room = createClaimRoom(
        { openClaims: (now) => invoices.openClaims(now), pace, clock },
        paceLimits.charges,
        policy,
      );
      const due = planDue(
        { invoices, clock, room: dryRun ? unlimitedRoom(batchSize) : room },
        {
          shards: shardsOfGroup(Number(group), { shards, groups }),
          pageSize: batchSize * batchesPerPage,
        },
      );
      yield* due;
    },

    async process(work, run) {
      if (work.kind === 'unreadable') return { counts: {}, failed: work.error };
      try {
        return await claimPiece(work, run);
      } catch (error) {
        if (error instanceof LeaseLost) throw error;
        if (error instanceof FencedOut) {
          const counts = { fencedOut: work.invoices.length };
          countOutcomes(counts);
          return { counts, lost: error.message };
        }
        if (error instanceof MaybePaused) return { counts: {}, held: error.message };
        work.leaveOut();
        return { counts: {}, failed: `shard ${work.shard}: ${errorText(error)}` };
      }
    },

    async done(group, runId, { resumes = false } = {}) {
      let sum: Counts = {};
      for (const { shard, counts } of await invoices.tallies(jobLockKey(jobNames.payments, group), runId)) {
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

  async function claimPiece({ shard, invoices: read }: Claim, run: GroupRun): Promise<Processed> {
    await pause.look();
    const known = tallies.get(shard);
    const done = { counts: known?.runId === run.runId ? known.counts : {}, final: run.resumable !== true };
    const { key, fence } = run.lease;
    const lease = { key, fence, assertHeld: () => assertMayClaim(run) };
    const claimed = await claimBatch({ ...parts, ...policy }, shard, read, { ...run, lease, done });
    const { counts, unsent, tally } = claimed;
    if (tally !== undefined) tallies.set(shard, tally);
    countOutcomes({ ...counts });
    if (counts.parked > 0) telemetry.count(metric.invoiceParked, { unknown: true }, counts.parked);
    if (unsent === undefined) return { counts: { ...counts } };
    // Claims made while no message gets through would only go stale: they are better left to the next run.
    return { counts: { ...counts }, stop: `payment commands cannot be sent: ${unsent}` };
  }

  /** Asked before each try: a slow store may have let more time pass since the look than a pause leaves. */
  function assertMayClaim({ lease }: GroupRun): void {
    lease.assertHeld();
    if (pause.gate() !== 'open')
      throw new MaybePaused('payments are paused, or it is not known whether they are');
  }

  function countOutcomes(counts: Counts): void {
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) telemetry.count(metric.invoiceClaims, { outcome }, count);
    }
  }
}

const previewName = { claim: 'claimed', reclaim: 'reclaimed', park: 'parked', skip: 'notDue' } as const;
