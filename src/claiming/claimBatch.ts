import { type Patch, newWriteId } from '@payonce/jobs/documents';
import { newOutboxMessage, type OutboxMessage } from '@payonce/jobs/outbox';
import { activeTrace, inSpan } from '@payonce/jobs/tracing';
import type { Lease } from '@payonce/leases';
import { advised } from '../invoice/advice.ts';
import type { Ending, FollowUps } from '../invoice/followUps.ts';
import { type Claim, type Invoice, maxAttempts } from '../invoice/invoice.ts';
import { ifUnchanged } from '../invoice/invoiceChange.ts';
import { unknownSince } from '../invoice/paymentState.ts';
import type { InvoiceStore, Writes } from '../invoice/store/invoiceStore.ts';
import { commandFor, newPaymentBatch, type PaymentCommand } from '../paying/paymentBatch.ts';
import { serviceBusQueues } from '../platform/azureNames.ts';

interface ClaimedBatch {
  counts: ClaimCounts;
  /** The order of the payments; absent if nothing was claimed. */
  message?: OutboxMessage;
  /** The reason if that order could not be sent yet. */
  unsent?: string;
}

/** On whose behalf a batch is claimed: a run, under the lease of its group. */
export interface ClaimingRun {
  runId: string;
  instance: string;
  lease: Pick<Lease, 'key' | 'fence' | 'assertHeld'>;
}

/**
 * Claims up to a batch of invoices of one shard in one transaction: each claim conditional on the invoice as it was read,
 * the outbox message with a command for each, and the check of the fence.
 *
 * @throws {FencedOut} another holder of the lease has written to this shard already
 */
export async function claimBatch(
  {
    invoices,
    followUps,
    claimStaleMs,
  }: Pick<Claiming, 'followUps' | 'claimStaleMs'> & { invoices: Pick<InvoiceStore, 'claim'> },
  shard: string,
  read: readonly Invoice[],
  { runId, instance, lease }: ClaimingRun,
): Promise<ClaimedBatch> {
  const batchId = newWriteId();
  const claimant = { runId, instance, fence: lease.fence };
  const claiming = { batchId, shard, claimStaleMs, claimant, followUps };
  const attributes = { 'run.id': runId, 'batch.id': batchId, shard, 'batch.size': read.length };
  const { written, contended, unsent } = await inSpan(
    'claim batch',
    { attributes },
    () =>
      invoices.claim({
        shard,
        batchId,
        invoices: read,
        fence: { lockKey: lease.key, token: lease.fence },
        plan: (unchanged, now) => planClaims(unchanged, { ...claiming, now, trace: activeTrace() }),
        assertHeld: () => lease.assertHeld(),
      }),
    (claimed) => ({ attributes: { 'batch.claimed': claimed.written?.patches.length ?? 0 } }),
  );
  if (written === undefined) return { counts: { ...noClaims, contended } };
  const message = written.messages.find(({ id }) => id === batchId);
  return {
    counts: { ...written.counts, contended },
    ...(message === undefined ? {} : { message }),
    ...(unsent === undefined ? {} : { unsent }),
  };
}

interface ClaimCounts {
  claimed: number;
  reclaimed: number;
  parked: number;
  /** It was read a moment ago and is no longer due: a clock was set. */
  notDue: number;
  /** Somebody else changed the invoice after it was read, or the store gave no clear answer. */
  contended: number;
}

export const noClaims: ClaimCounts = { claimed: 0, reclaimed: 0, parked: 0, notDue: 0, contended: 0 };

interface ClaimPlan extends Writes {
  counts: ClaimCounts;
}

interface Claiming {
  batchId: string;
  shard: string;
  /** Milliseconds. */
  now: number;
  claimStaleMs: number;
  /** `fence`: of the lease under which the run claims. */
  claimant: { runId: string; instance: string; fence: number };
  followUps: FollowUps;
  /** The trace of the claim, for the timelines. */
  trace?: { traceparent?: string };
}

/**
 * Plans one claiming transaction: a patch for each invoice, the outbox message with the payments, and the message of what
 * follows if invoices are parked. With the check of the fence these are at most three operations more than there are
 * invoices. Pure.
 */
export function planClaims(
  invoices: readonly Invoice[],
  { batchId, shard, now, claimStaleMs, claimant, followUps, trace = {} }: Claiming,
): ClaimPlan {
  const at = new Date(now).toISOString();
  const counts: ClaimCounts = { ...noClaims };
  const commands: PaymentCommand[] = [];
  const parked: Ending[] = [];
  const patches: Patch[] = [];
  for (const invoice of invoices) {
    const decision = decideClaim(invoice, at);
    const { claim: before } = invoice;
    const called = decision.kind === 'reclaim' ? decision.called : before?.phase === 'calling';
    // A claim that has come to nothing: if its calls had begun, the invoice may have been charged.
    const mayBeCharged = called && before !== undefined;
    const payment = mayBeCharged ? unknownSince(invoice.payment, before.at) : invoice.payment;
    switch (decision.kind) {
      case 'skip':
        counts.notDue++;
        break;
      case 'park':
        counts.parked++;
        patches.push(park({ ...invoice, payment }, decision.reason));
        parked.push({
          invoice: { ...invoice, invoiceId: invoice.id, keyNumber: payment.keyNumber },
          end: { kind: 'parked', reason: decision.reason, unknown: true },
        });
        break;
      case 'claim':
      case 'reclaim': {
        counts[decision.kind === 'claim' ? 'claimed' : 'reclaimed']++;
        const command = commandFor({ ...invoice, payment }, { attempt: decision.attempt, at });
        commands.push(command);
        patches.push(claim(invoice, decision, command));
        break;
      }
    }
  }
  const messageId = `${batchId}-notify`;
  const messages = followUps(parked, { shard, occasion: batchId, messageId, now });
  if (commands.length === 0) return { patches, counts, messages };
  const body = newPaymentBatch({ batchId, shard, runId: claimant.runId, commands });
  const destination = serviceBusQueues.paymentCommands;
  const order = newOutboxMessage({ id: batchId, shard, destination, body }, now);
  return { patches, counts, messages: [...messages, order] };

  function park(invoice: Invoice, reason: string): Patch {
    return ifUnchanged(invoice, {
      set: { status: 'parked', reason, payment: invoice.payment },
      clear: ['actionableAt', 'claim'],
      entry: { at, what: 'parked', by: claimant.instance, batchId, reason },
    });
  }

  function claim(
    invoice: Invoice,
    decision: Extract<ClaimDecision, { kind: 'claim' | 'reclaim' }>,
    { payment }: PaymentCommand,
  ): Patch {
    const { attempt } = decision;
    const { keyNumber } = payment;
    const { instance: by, runId, fence } = claimant;
    const taken: Claim = { batchId, by, runId, fence, attempt, at, phase: 'claimed' };
    const actionableAt = new Date(now + claimStaleMs).toISOString();
    const from = decision.kind === 'reclaim' ? { from: decision.from } : {};
    const what = decision.kind === 'claim' ? 'claimed' : 'reclaimed';
    return ifUnchanged(invoice, {
      set: { status: 'claimed', claim: taken, actionableAt, attempts: attempt, payment },
      entry: { at, what, by, attempt, keyNumber, fence, runId, batchId, ...from, ...trace },
    });
  }
}

/** Decision of a run on an invoice that it has read. */
export type ClaimDecision =
  /** Nobody has it and it is due. */
  | { kind: 'claim'; attempt: number }
  /** Its claim is stale: no sign of life until `actionableAt`. `called`: it may have been charged. */
  | { kind: 'reclaim'; attempt: number; from: string; called: boolean }
  /** Too many claims have ended without an outcome. */
  | { kind: 'park'; reason: string }
  | { kind: 'skip'; why: 'notDue' | 'settled' };

/**
 * Decides on one invoice at time `now` (ISO 8601, UTC). Pure: the write that follows is conditional on what was read.
 *
 * A stale claim whose batch never started charged nothing, because the start is written before the first call and is
 * refused once another batch has the claim. It does not count as an attempt, so a queue that carries no messages for hours
 * parks no good invoice.
 */
export function decideClaim(invoice: Invoice, now: string): ClaimDecision {
  const { status, actionableAt, attempts, claim } = invoice;
  if (status !== 'pending' && status !== 'claimed') return { kind: 'skip', why: 'settled' };
  if (actionableAt === undefined || actionableAt > now) return { kind: 'skip', why: 'notDue' };
  if (status === 'claimed' && claim?.phase === 'claimed') {
    const { attempt, by: from } = claim;
    return { kind: 'reclaim', attempt, from, called: false };
  }
  if (attempts >= maxAttempts) {
    const alone = claim === undefined ? '' : ', the last one alone: paying it may crash the process';
    const reason = `${attempts} attempts ended without a known outcome${alone}`;
    return { kind: 'park', reason: advised(reason, 'outcomeUnknown') };
  }
  if (status === 'claimed' && claim !== undefined) {
    return { kind: 'reclaim', attempt: attempts + 1, from: claim.by, called: true };
  }
  return { kind: 'claim', attempt: attempts + 1 };
}
