import { newWriteId } from '../documents/systemId.ts';
import type { FollowUps } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Tally } from '../locking/fence.ts';
import type { Lease } from '../locking/index.ts';
import type { OutboxMessage } from '../outbox/outboxMessage.ts';
import { activeTrace, inSpan } from '../platform/tracing.ts';
import { type ClaimCounts, noClaims, planClaims } from './planClaims.ts';

export interface ClaimedBatch {
  counts: ClaimCounts;
  /** The order of the payments; absent if nothing was claimed. */
  message?: OutboxMessage;
  /** The reason if that order could not be sent yet. */
  unsent?: string;
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
  const batchId = newWriteId();
  const claimant = { runId, instance, fence: lease.fence };
  const claim = () =>
    invoices.claim({
      shard,
      batchId,
      invoices: read,
      fence: { lockKey: lease.key, token: lease.fence },
      plan: (unchanged, now) =>
        planClaims(unchanged, {
          batchId,
          shard,
          now,
          claimStaleMs,
          claimant,
          followUps,
          done,
          trace: activeTrace(),
        }),
      assertHeld: () => lease.assertHeld(),
    });
  const attributes = { 'run.id': runId, 'batch.id': batchId, shard, 'batch.size': read.length };
  const { written, contended, unsent } = await inSpan(
    'claim batch',
    { attributes },
    claim,
    ({ written: claimed }) => ({
      attributes: { 'batch.claimed': claimed?.plan.patches.length ?? 0 },
    }),
  );
  if (written === undefined) return { counts: { ...noClaims, contended } };
  const message = written.messages.find(({ id }) => id === batchId);
  const { counts, tally } = written.plan;
  return {
    counts: { ...counts, contended },
    ...(tally === undefined ? {} : { tally }),
    ...(message === undefined ? {} : { message }),
    ...(unsent === undefined ? {} : { unsent }),
  };
}
