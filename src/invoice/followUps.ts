import { newOutboxMessage, type OutboxMessage } from '@payonce/jobs/outbox';
import type { WorkItem } from '@payonce/jobs/work-items';
import { queues } from '../platform/azureNames.ts';

/** The part of an invoice that follow-ups need. */
export interface EndedInvoice {
  invoiceId: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  description?: string;
  /** Number of the idempotency key that was used last. */
  keyNumber: number;
}

/** The end of an invoice; times are ISO 8601. */
export type InvoiceEnd =
  | { kind: 'paid'; paymentId: string; paidAt: string }
  | { kind: 'declined'; reason: string }
  /** `unknown`: it may have been charged. */
  | { kind: 'parked'; reason: string; unknown: boolean }
  | ReversalEnd;

/** Money of a paid invoice has gone back, or may, or did not after all. Amounts in minor units. */
export interface ReversalEnd {
  kind: 'refunded' | 'refundFailed' | 'disputed' | 'disputeLost';
  paymentId: string;
  /** The id of the refund or dispute. */
  reversalId: string;
  reversedMinor: number;
  /** Absent: that of the invoice. */
  reversedCurrency?: string;
  reason?: string;
}

export interface Ending {
  invoice: EndedInvoice;
  end: InvoiceEnd;
}

/** One kind of work that follows when an invoice ends: its stage does it, this orders it. */
export interface FollowUp {
  readonly name: string;
  /** The ends that it follows. */
  readonly on: readonly InvoiceEnd['kind'][];
  /** The work item, or undefined if this end needs none. `occasion` names the transaction that writes the end. Pure. */
  order(ended: Ending, transaction: { at: string; occasion: string; shard: string }): WorkItem | undefined;
}

/**
 * The outbox message that orders all follow-ups of some ends; none without follow-ups. It belongs in the transaction that writes
 * the ends. `messageId`: its id, if the transaction has a message with the name of the occasion. Pure.
 */
export type FollowUps = (
  ended: readonly Ending[],
  transaction: { shard: string; occasion: string; messageId?: string; now: number },
) => OutboxMessage[];

/** Orders these kinds of follow-ups and no others. */
export function followUpsOf(kinds: readonly FollowUp[]): FollowUps {
  return (ended, { shard, occasion, messageId: id = occasion, now }) => {
    const at = new Date(now).toISOString();
    const body = ended.flatMap((one) =>
      kinds.flatMap((kind) =>
        kind.on.includes(one.end.kind) ? (kind.order(one, { at, occasion, shard }) ?? []) : [],
      ),
    );
    if (body.length === 0) return [];
    return [newOutboxMessage({ id, shard, destination: queues.workItems, body }, now)];
  };
}

/** The stage that looks into a payment (after/eventStage.ts). */
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
  const body = paymentIds.map((resourceId): WorkItem => ({
    resourceId,
    stage: eventStage,
    occasion: write,
    input,
  }));
  return [newOutboxMessage({ id: `${write}-others`, shard, destination: queues.workItems, body }, now)];
}
