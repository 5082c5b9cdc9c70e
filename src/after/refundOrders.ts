import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import { queues } from '../platform/azureNames.ts';
import type { WorkItem } from '../workItems/workItem.ts';

/** The stage that carries refunds out (after/refundStage.ts). */
export const refundStageName = 'refund';

/**
 * The message that orders these refunds of an invoice. `write` names the write that stores it: each order is a work item of its
 * own, because what an earlier one has done may be recorded although the refund was not made. Pure.
 */
export function orderOfRefunds(
  invoice: { id: string; shard: string },
  refundIds: readonly string[],
  { write, now }: { write: string; now: number },
): OutboxMessage {
  const body = refundIds.map(
    (refundId): WorkItem => ({
      resourceId: invoice.id,
      stage: refundStageName,
      occasion: `${refundId}-${write}`,
      input: { refundId },
    }),
  );
  const { shard } = invoice;
  return newOutboxMessage({ id: `${write}-refund`, shard, destination: queues.workItems, body }, now);
}
