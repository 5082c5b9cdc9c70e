import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { cosmosStatus } from '../documents/cosmosErrors.ts';
import { type Transacted, transact } from '../documents/transact.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { rereadInvoices } from '../invoice/rereadInvoices.ts';
import { createFence, FencedOut } from '../locking/fence.ts';
import type { OutboxMessage } from '../outbox/outboxMessage.ts';
import { readOutboxMessage } from '../outbox/readOutbox.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import { type Claimant, type ClaimCounts, noClaims, planBatch } from './planClaims.ts';

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
 * batch id in the timelines says whether it was applied, also where it only parked, or is settled by now.
 *
 * @throws {FencedOut} another holder of the lease has written to this shard already
 */
export async function claimBatch(
  {
    container,
    clock,
    claimStaleMs,
    notifies,
  }: { container: Container; clock: Clock; claimStaleMs: number; notifies: boolean },
  shard: string,
  read: Invoice[],
  claimant: Claimant,
): Promise<ClaimedBatch> {
  const batchId = randomUUID();
  const counts: ClaimCounts = { ...noClaims };
  let invoices = read;
  for (let tries = 0; tries < maxTries && invoices.length > 0; tries++) {
    claimant.assertHeld();
    const now = clock.now();
    const batch = planBatch(invoices, { batchId, shard, now, claimStaleMs, claimant, notifies });
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
    if (current.some(({ timeline }) => timeline.some((entry) => entry.batchId === batchId))) {
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
    notDue: a.notDue + b.notDue,
    contended: a.contended + b.contended,
  };
}
