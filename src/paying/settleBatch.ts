import { randomUUID } from 'node:crypto';
import type { Container, OperationInput } from '@azure/cosmos';
import { transact } from '../documents/transact.ts';
import { followUps, unclearOf } from '../followUps/followUpItems.ts';
import { reconcileMessage } from '../followUps/reconcileItem.ts';
import { rereadInvoices } from '../invoice/rereadInvoices.ts';
import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { Clock } from '../platform/clock.ts';
import type { WorkItem } from '../workItems/workItem.ts';
import { type Settled, type Settlement, settlementPatches } from './decideSettlement.ts';
import type { PaymentBatch } from './paymentBatch.ts';
import { decideStart, heldBy, NoClearAnswer } from './startBatch.ts';

export interface SettledPart {
  /** What follows, to be dispatched now. */
  message?: OutboxMessage;
  settled: Settled[];
  /** Commands whose invoice another claim had taken meanwhile: that one sends the same key and settles it. */
  lost: number;
}

const maxTries = 8;
const retryDelay = { base: 250, cap: 4_000 };

/**
 * Settles some commands of a batch in one transaction, together with the outbox message of the work that follows. Holds
 * for each invoice only while the batch still has the claim; the ones that it has lost are dropped, and the rest goes
 * again.
 *
 * @throws {NoClearAnswer} the message is then delivered again, the same keys are sent, and the provider answers as before
 */
export async function settleCommands(
  { container, clock, by, notifies }: { container: Container; clock: Clock; by: string; notifies: boolean },
  { batchId, shard }: Pick<PaymentBatch, 'batchId' | 'shard'>,
  toSettle: readonly Settled[],
): Promise<SettledPart> {
  let rest = [...toSettle];
  let lost = 0;
  const now = clock.now();
  const at = new Date(now).toISOString();
  // The name of this settlement and nobody else's: by it a transaction that was applied, but whose answer was lost, is known.
  const settlementId = `${batchId}-${randomUUID().slice(0, 8)}`;
  for (let tries = 0; tries < maxTries && rest.length > 0; tries++) {
    const message = followUpMessage(rest);
    const operations = rest.map(settleOperation);
    const later = reconcileMessage(unclearOf(rest), { shard, occasion: settlementId, now });
    for (const one of [message, later]) {
      if (one !== undefined) operations.push({ operationType: 'Create', resourceBody: one });
    }
    const answer = await transact(container, shard, operations);
    if (answer.kind === 'committed') {
      return { settled: rest, lost, ...(message === undefined ? {} : { message }) };
    }
    const delayMs = exponentialBackoff(tries + 1, retryDelay);
    if (answer.kind === 'uncertain') await clock.sleep(delayMs);
    const current = await rereadInvoices(
      container,
      shard,
      rest.map(({ command }) => command.invoiceId),
    );
    if (current === undefined) {
      await clock.sleep(delayMs);
      continue;
    }
    // The transaction is whole: when the timeline of one names this settlement, all of them have been settled by it.
    if (current.some(({ timeline }) => timeline.some((entry) => entry.settlement === settlementId))) {
      return { settled: rest, lost, ...(message === undefined ? {} : { message }) };
    }
    const byId = new Map(current.map((invoice) => [invoice.id, invoice]));
    const held = rest.filter(({ command }) => decideStart(byId.get(command.invoiceId), batchId) === 'pay');
    lost += rest.length - held.length;
    rest = held;
  }
  if (rest.length === 0) return { settled: [], lost };
  throw new NoClearAnswer(
    `batch ${batchId} could not be settled: the store gave no clear answer in ${maxTries} tries`,
  );

  function followUpMessage(part: readonly Settled[]): OutboxMessage | undefined {
    const body: WorkItem[] = part.flatMap((settled) =>
      followUps(settled, { at, occasion: settlementId, notifies }),
    );
    if (body.length === 0) return undefined;
    return newOutboxMessage({ id: settlementId, shard, destination: 'work-items', body }, now);
  }

  function settleOperation({ command, settlement }: Settled): OperationInput {
    const entry = { at, by, batchId, settlement: settlementId, ...timelineOf(settlement) };
    return {
      operationType: 'Patch',
      id: command.invoiceId,
      resourceBody: {
        condition: heldBy(batchId),
        operations: [
          ...settlementPatches(settlement, command, at),
          { op: 'add', path: '/timeline/-', value: entry },
        ],
      },
    };
  }
}

/** What the timeline says of a settlement. */
function timelineOf(settlement: Settlement): { what: string } & Record<string, string> {
  switch (settlement.kind) {
    case 'paid':
      return { what: 'paid', paymentId: settlement.paymentId };
    case 'retry':
      return { what: `retry: ${settlement.why}`, reason: settlement.reason, nextAt: settlement.at };
    case 'declined':
    case 'parked':
      return { what: settlement.kind, reason: settlement.reason };
  }
}
