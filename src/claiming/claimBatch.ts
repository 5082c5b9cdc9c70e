import { randomUUID } from 'node:crypto';
import type { FollowUps } from '../followUps/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Lease } from '../locking/index.ts';
import type { OutboxMessage } from '../outbox/outboxMessage.ts';
import { type ClaimCounts, noClaims, planClaims } from './planClaims.ts';

export interface ClaimedBatch {
  counts: ClaimCounts;
  /** The order of the payments, to be dispatched now; absent if nothing was claimed. */
  message?: OutboxMessage;
}

/** On whose behalf a batch is claimed: a run, under the lease of its group. */
export interface ClaimingRun {
  runId: string;
  instance: string;
  lease: Pick<Lease, 'key' | 'fence' | 'assertHeld'>;
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
  { runId, instance, lease }: ClaimingRun,
): Promise<ClaimedBatch> {
  const batchId = randomUUID();
  const claimant = { runId, instance, fence: lease.fence };
  const { written, contended } = await invoices.claim({
    shard,
    batchId,
    invoices: read,
    fence: { lockKey: lease.key, token: lease.fence },
    plan: (unchanged, now) =>
      planClaims(unchanged, { batchId, shard, now, claimStaleMs, claimant, followUps }),
    assertHeld: () => lease.assertHeld(),
  });
  if (written === undefined) return { counts: { ...noClaims, contended } };
  const message = written.messages.find(({ id }) => id === batchId);
  return { counts: { ...written.plan.counts, contended }, ...(message === undefined ? {} : { message }) };
}

/**
 * Bytes for the commands of one batch: a Service Bus message holds 256 KB in the standard tier
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas), and the envelope needs some of it.
 */
const maxBytes = 192 * 1024;
/** Upper bound of what a command holds besides the invoice's own texts, in bytes. */
const commandBytes = 400;

/** Cuts a page of invoices into batches of at most `batchSize` whose message fits Service Bus. Keeps the order. */
export function batchesOf(page: readonly Invoice[], batchSize: number): Invoice[][] {
  const batches: Invoice[][] = [];
  let batch: Invoice[] = [];
  let bytes = 0;
  for (const invoice of page) {
    const size = commandBytes + textBytes(invoice);
    if (batch.length === batchSize || (batch.length > 0 && bytes + size > maxBytes)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(invoice);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** Size as JSON, in which a quote or a line feed counts twice. */
function textBytes({ id, customerId, paymentMethod, description }: Invoice): number {
  return Buffer.byteLength(JSON.stringify([id, customerId, paymentMethod, description]));
}
