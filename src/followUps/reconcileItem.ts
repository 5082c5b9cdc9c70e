import { newOutboxMessage, type OutboxMessage } from '../outbox/outboxMessage.ts';
import type { WorkItem } from '../workItems/workItem.ts';

/** Name of the stage that settles a parked invoice whose charge is unknown (followUps/reconcileStage.ts). */
export const reconcileStageName = 'reconcile';

/**
 * How long after the last call the provider is asked what became of it, in milliseconds: Stripe's search shows a payment
 * mostly within a minute (https://docs.stripe.com/search#data-freshness).
 */
const searchLagMs = 90_000;

/** An invoice that is being parked although it may have been charged. */
export interface Unclear {
  invoiceId: string;
  /** Number of the key that was sent last. */
  keyNumber: number;
}

/**
 * The outbox message with an order to look each of these invoices up, once the provider's search can know. It belongs in
 * the transaction that parks them. `occasion` is the name of that transaction; undefined where there is none to look up.
 */
export function reconcileMessage(
  unclear: readonly Unclear[],
  { shard, occasion, now }: { shard: string; occasion: string; now: number },
): OutboxMessage | undefined {
  if (unclear.length === 0) return undefined;
  const body: WorkItem[] = unclear.map(({ invoiceId, keyNumber }) => ({
    resourceId: invoiceId,
    stage: reconcileStageName,
    occasion,
    input: { shard, keyNumber },
  }));
  const content = { id: `${occasion}-reconcile`, shard, destination: 'work-items' as const, body };
  return newOutboxMessage(content, now, now + searchLagMs);
}
