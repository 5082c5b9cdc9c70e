import { randomUUID } from 'node:crypto';
import type { Container, OperationInput, PatchOperation } from '@azure/cosmos';
import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import { readOutboxMessage } from '../outbox/readOutbox.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import { cosmosStatus } from '../platform/cosmosErrors.ts';
import { createFence, FencedOut, fenceCheck } from '../platform/fence.ts';
import { type Transacted, transact } from '../platform/transact.ts';
import { commandFor, type PaymentBatch, type PaymentCommand } from './command.ts';
import { type ClaimDecision, decideClaim } from './decideClaim.ts';
import { type Claim, type Invoice, type PaymentState, unknownSince } from './invoice.ts';
import { reconcileMessage, type Unclear } from './reconcileItem.ts';
import { rereadInvoices } from './rereadInvoices.ts';
import { appendToTimeline } from './timeline.ts';

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
  /** Somebody else changed the invoice between our reading and our writing. */
  contended: number;
}

export interface ClaimedBatch {
  counts: ClaimCounts;
  /** What is to be dispatched now; absent where nothing was claimed. */
  message?: OutboxMessage;
}

/** How often a batch is tried again without its losers before the rest is left to the next run. */
const maxTries = 7;
const retryDelay = { base: 200, cap: 4_000 };

/**
 * Claims up to a batch of invoices of one shard in one transaction: each claim on the ETag that was read, the outbox
 * message with a command for each, and the check of the fence. One contended invoice refuses the whole batch; it is
 * dropped and the rest goes again, so it holds up nobody. A batch whose answer was lost is settled by rereading: the
 * batch id in the claim says whose it is.
 *
 * @throws {FencedOut} another holder of the lease has written to this shard already
 */
export async function claimBatch(
  { container, clock, claimStaleMs }: { container: Container; clock: Clock; claimStaleMs: number },
  shard: string,
  read: Invoice[],
  claimant: Claimant,
): Promise<ClaimedBatch> {
  const batchId = randomUUID();
  const counts: ClaimCounts = { claimed: 0, reclaimed: 0, parked: 0, contended: 0 };
  let invoices = read;
  for (let tries = 0; tries < maxTries && invoices.length > 0; tries++) {
    claimant.assertHeld();
    const now = clock.now();
    const batch = planBatch(invoices, { batchId, shard, now, claimStaleMs, claimant });
    const answer = await transact(container, shard, batch.operations);
    if (answer.kind === 'committed')
      return { counts: addCounts(counts, batch.counts), ...messageOf(batch.message) };
    const delayMs = exponentialBackoff(tries + 1, retryDelay);
    await prepareRetry(answer, delayMs);
    const current = await rereadInvoices(
      container,
      shard,
      invoices.map(({ id }) => id),
    );
    if (current === undefined) {
      await clock.sleep(delayMs);
      continue;
    }
    if (current.some(({ claim }) => claim?.batchId === batchId)) {
      const message = await readOutboxMessage(container, shard, batchId);
      return { counts: addCounts(counts, batch.counts), ...messageOf(message) };
    }
    const etags = new Map(current.map(({ id, _etag }) => [id, _etag]));
    const unchanged = invoices.filter(({ id, _etag }) => etags.get(id) === _etag);
    counts.contended += invoices.length - unchanged.length;
    invoices = unchanged;
  }
  counts.contended += invoices.length;
  return { counts };

  async function prepareRetry(
    answer: Exclude<Transacted, { kind: 'committed' }>,
    delayMs: number,
  ): Promise<void> {
    if (answer.kind === 'uncertain') return clock.sleep(delayMs);
    const [fence] = answer.codes;
    if (fence === cosmosStatus.preconditionFailed) throw new FencedOut(claimant.lockKey, claimant.fence);
    if (fence === cosmosStatus.notFound) await createFence(container, { lockKey: claimant.lockKey, shard });
  }
}

function messageOf(message: OutboxMessage | undefined): { message?: OutboxMessage } {
  return message === undefined ? {} : { message };
}

function addCounts(a: ClaimCounts, b: ClaimCounts): ClaimCounts {
  return {
    claimed: a.claimed + b.claimed,
    reclaimed: a.reclaimed + b.reclaimed,
    parked: a.parked + b.parked,
    contended: a.contended + b.contended,
  };
}

interface BatchPlan {
  operations: OperationInput[];
  counts: ClaimCounts;
  message: OutboxMessage | undefined;
}

/** The operations of one claiming transaction. Pure. */
export function planBatch(
  invoices: readonly Invoice[],
  {
    batchId,
    shard,
    now,
    claimStaleMs,
    claimant,
  }: {
    batchId: string;
    shard: string;
    now: number;
    claimStaleMs: number;
    claimant: Claimant;
  },
): BatchPlan {
  const at = new Date(now).toISOString();
  const counts: ClaimCounts = { claimed: 0, reclaimed: 0, parked: 0, contended: 0 };
  const commands: PaymentCommand[] = [];
  const unclear: Unclear[] = [];
  const operations: OperationInput[] = [fenceCheck(claimant.lockKey, claimant.fence)];
  for (const invoice of invoices) {
    const decision = decideClaim(invoice, at);
    if (decision.kind === 'skip') continue;
    const payment = paymentAfter(invoice, decision);
    operations.push(patchIfUnchanged(invoice, patchesFor({ ...invoice, payment }, decision)));
    if (decision.kind === 'park') {
      counts.parked++;
      unclear.push({ invoiceId: invoice.id, keyNumber: invoice.payment.keyNumber });
    } else commands.push(commandFor({ ...invoice, payment }, { attempt: decision.attempt, at }));
    if (decision.kind === 'claim') counts.claimed++;
    if (decision.kind === 'reclaim') counts.reclaimed++;
  }
  const lookUp = reconcileMessage(unclear, { shard, occasion: batchId, now });
  if (lookUp !== undefined) operations.push({ operationType: 'Create', resourceBody: lookUp });
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
        appendToTimeline(invoice, { at, what: 'parked', by: claimant.by, reason: decision.reason }),
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
