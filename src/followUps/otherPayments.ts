import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import { queues } from '../platform/azureNames.ts';
import type { WorkItem } from '../workItems/workItem.ts';

/** The stage that looks into a payment (events/eventStage.ts). */
export const eventStage = 'payment-event';

/**
 * The message that has other payments of an invoice looked into, now that it is paid by one; none without such payments. Their
 * events may have come and gone while a person had to decide. `write` names the write that stores it. Pure.
 */
export function looksInto(
  { id: invoiceId, shard }: { id: string; shard: string },
  paymentIds: readonly string[],
  { write, now }: { write: string; now: number },
): OutboxMessage[] {
  if (paymentIds.length === 0) return [];
  const input = { hint: 'succeeded', invoiceId };
  const body = paymentIds.map(
    (resourceId): WorkItem => ({ resourceId, stage: eventStage, occasion: write, input }),
  );
  return [newOutboxMessage({ id: `${write}-others`, shard, destination: queues.workItems, body }, now)];
}
