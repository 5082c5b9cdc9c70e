import type { OperationInput, PatchOperation } from '@azure/cosmos';
import { notifyItem } from '../followUps/notifyItem.ts';
import { reconcileMessage, type Unclear } from '../followUps/reconcileItem.ts';
import { type Claim, type Invoice, type PaymentState, unknownSince } from '../invoice/invoice.ts';
import { appendToTimeline } from '../invoice/timeline.ts';
import { fenceCheck } from '../locking/fence.ts';
import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import { commandFor, type PaymentBatch, type PaymentCommand } from '../paying/paymentBatch.ts';
import type { WorkItem } from '../workItems/workItem.ts';
import { type ClaimDecision, decideClaim } from './decideClaim.ts';

/** In whose name a batch is claimed: the run, its lease and the fence token of that lease. */
export interface Claimant {
  runId: string;
  /** The instance, as it shall be shown to people. */
  by: string;
  lockKey: string;
  fence: number;
  /** Throws once the lease is not surely held any more; asked before each write. */
  assertHeld(): void;
}

export interface ClaimCounts {
  claimed: number;
  reclaimed: number;
  parked: number;
  /** It was read a moment ago, and is not due any more: a clock was set. */
  notDue: number;
  /** Somebody else changed the invoice between our reading and our writing, or the store did not say in several tries. */
  contended: number;
}

export const noClaims: ClaimCounts = { claimed: 0, reclaimed: 0, parked: 0, notDue: 0, contended: 0 };

interface BatchPlan {
  operations: OperationInput[];
  counts: ClaimCounts;
  message: OutboxMessage | undefined;
}

/**
 * The operations of one claiming transaction: the check of the fence, a patch for each invoice, the outbox message with
 * the payments, and those with what follows where an invoice is parked. At most four more than there are invoices. Pure.
 */
export function planBatch(
  invoices: readonly Invoice[],
  {
    batchId,
    shard,
    now,
    claimStaleMs,
    claimant,
    notifies,
  }: {
    batchId: string;
    shard: string;
    now: number;
    claimStaleMs: number;
    claimant: Claimant;
    /** Whether somebody wants to hear of what is parked. */
    notifies: boolean;
  },
): BatchPlan {
  const at = new Date(now).toISOString();
  const counts: ClaimCounts = { ...noClaims };
  const commands: PaymentCommand[] = [];
  const unclear: Unclear[] = [];
  const ends: WorkItem[] = [];
  const operations: OperationInput[] = [fenceCheck(claimant.lockKey, claimant.fence)];
  for (const invoice of invoices) {
    const decision = decideClaim(invoice, at);
    if (decision.kind === 'skip') {
      counts.notDue++;
      continue;
    }
    const payment = paymentAfter(invoice, decision);
    operations.push(patchIfUnchanged(invoice, patchesFor({ ...invoice, payment }, decision)));
    if (decision.kind === 'park') {
      counts.parked++;
      unclear.push({ invoiceId: invoice.id, keyNumber: invoice.payment.keyNumber });
      const end = { kind: 'parked' as const, reason: decision.reason };
      if (notifies)
        ends.push(notifyItem({ ...invoice, invoiceId: invoice.id }, end, { at, occasion: batchId }));
    } else commands.push(commandFor({ ...invoice, payment }, { attempt: decision.attempt, at }));
    if (decision.kind === 'claim') counts.claimed++;
    if (decision.kind === 'reclaim') counts.reclaimed++;
  }
  const lookUp = reconcileMessage(unclear, { shard, occasion: batchId, now });
  if (lookUp !== undefined) operations.push({ operationType: 'Create', resourceBody: lookUp });
  if (ends.length > 0) {
    const told = { id: `${batchId}-notify`, shard, destination: 'work-items' as const, body: ends };
    operations.push({ operationType: 'Create', resourceBody: newOutboxMessage(told, now) });
  }
  if (commands.length === 0) return { operations, counts, message: undefined };
  const body: PaymentBatch = { batchId, shard, runId: claimant.runId, commands };
  const message = newOutboxMessage({ id: batchId, shard, destination: 'payment-commands', body }, now);
  operations.push({ operationType: 'Create', resourceBody: message });
  return { operations, counts, message };

  function patchesFor(
    invoice: Invoice,
    decision: Exclude<ClaimDecision, { kind: 'skip' }>,
  ): PatchOperation[] {
    if (decision.kind === 'park') {
      return [
        { op: 'set', path: '/status', value: 'parked' },
        { op: 'set', path: '/reason', value: decision.reason },
        { op: 'set', path: '/payment', value: invoice.payment },
        { op: 'remove', path: '/actionableAt' },
        ...(invoice.claim === undefined ? [] : [{ op: 'remove' as const, path: '/claim' }]),
        appendToTimeline(invoice, { at, what: 'parked', by: claimant.by, batchId, reason: decision.reason }),
      ];
    }
    const { attempt } = decision;
    const claim: Claim = {
      batchId,
      by: claimant.by,
      runId: claimant.runId,
      fence: claimant.fence,
      attempt,
      at,
      phase: 'claimed',
    };
    const what = decision.kind === 'claim' ? 'claimed' : 'reclaimed';
    const from = decision.kind === 'reclaim' ? { from: decision.from } : {};
    return [
      { op: 'set', path: '/status', value: 'claimed' },
      { op: 'set', path: '/claim', value: claim },
      { op: 'set', path: '/actionableAt', value: new Date(now + claimStaleMs).toISOString() },
      { op: 'set', path: '/attempts', value: attempt },
      { op: 'set', path: '/payment', value: commandFor(invoice, { attempt, at }).payment },
      appendToTimeline(invoice, { at, what, by: claimant.by, attempt, batchId, ...from }),
    ];
  }
}

/** The payment as it stands when a claim has come to nothing: one whose calls had begun may have been charged. */
function paymentAfter({ payment, claim }: Invoice, decision: ClaimDecision): PaymentState {
  const called = decision.kind === 'reclaim' ? decision.called : claim?.phase === 'calling';
  return called && claim !== undefined ? unknownSince(payment, claim.at) : payment;
}

function patchIfUnchanged(invoice: Invoice, operations: PatchOperation[]): OperationInput {
  return { operationType: 'Patch', id: invoice.id, ifMatch: invoice._etag, resourceBody: { operations } };
}
