import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/**
 * A refund of the payment, whoever asked for it:
 *
 *   requested ──the provider takes it──► pending ──► succeeded
 *       │                                   └──► failed | canceled
 *       └──it refuses──► failed
 *
 * Refunds of ours begin as `requested` (refunds/). The provider's states are recorded as it reports them (tracking/). One
 * that had succeeded may still fail, for example because the card's account is closed
 * (https://docs.stripe.com/refunds#failed-refunds).
 */
export const refundStatuses = ['requested', 'pending', 'succeeded', 'failed', 'canceled'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

const refundSchema = tolerantObject({
  /** Ours if it was asked for through ops, otherwise the provider's. */
  id: z.string(),
  /** Absent until the provider has taken it. */
  providerId: z.string().exactOptional(),
  amountMinor: z.number().int(),
  status: z.enum(refundStatuses),
  /** When it was asked for: ISO 8601, UTC. */
  at: z.string(),
  /** Who asked for it through ops. */
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  /** Nobody named an amount: it is all that was left. */
  rest: z.literal(true).exactOptional(),
  /** The idempotency key that it was last sent under, if it is one of ours: its number, and when it was stored (ISO 8601). */
  key: tolerantObject({ number: z.number().int().min(1), createdAt: z.string() }).exactOptional(),
  /** Why it failed. */
  failure: z.string().exactOptional(),
});
export type Refund = z.infer<typeof refundSchema>;

/** `open` until the bank decides; `lost`: the money is gone. */
export const disputeStatuses = ['open', 'won', 'lost'] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

const disputeSchema = tolerantObject({
  /** The provider's. */
  id: z.string(),
  amountMinor: z.number().int(),
  status: z.enum(disputeStatuses),
  /** When it was opened: ISO 8601, UTC. */
  at: z.string(),
  reason: z.string(),
});
export type Dispute = z.infer<typeof disputeSchema>;

export const reversalsSchema = tolerantObject({
  refunds: z.array(refundSchema),
  disputes: z.array(disputeSchema),
  /** Sum of the refunds that are requested, pending or succeeded, in minor units. */
  refundedMinor: z.number().int(),
  /** Sum of the disputes that are open or lost, in minor units. */
  disputedMinor: z.number().int(),
  /** The latest `at` of all of them. */
  latestAt: z.string(),
});
export type Reversals = z.infer<typeof reversalsSchema>;

/** What the provider knows of a payment's refunds and disputes. Times are ISO 8601, UTC. */
export interface ProviderReversals {
  refunds: readonly {
    providerId: string;
    /** Our own id, if it was asked for through ops. */
    refundId?: string;
    amountMinor: number;
    status: Exclude<RefundStatus, 'requested'>;
    at: string;
    reason?: string;
    failure?: string;
  }[];
  disputes: readonly { id: string; amountMinor: number; status: DisputeStatus; at: string; reason: string }[];
}

/** Whether this can be the id of a refund of ours (refunds/refundKeys.ts). Metadata at the provider may hold anything. */
export function isRefundId(text: string): boolean {
  return /^rf_[\w-]{43}$/.test(text);
}

export const noReversals: ProviderReversals = { refunds: [], disputes: [] };

/**
 * The reversals once the provider's view is added to what is recorded. Its word counts; what only we know stays, such as a
 * refund that it has not taken yet. Undefined if there are none. Pure.
 *
 * Refunds are matched by id, never by amount. Views may come late and in any order, so nothing that has been reported is
 * taken back: a refund only moves on, and a dispute that was closed stays closed.
 */
export function withProviderReversals(
  recorded: Reversals | undefined,
  provider: ProviderReversals,
): Reversals | undefined {
  const refunds = [...(recorded?.refunds ?? [])];
  for (const { providerId, refundId, ...seen } of inOrder(provider.refunds, ({ providerId: id }) => id)) {
    const place = placeOf(refunds, providerId, refundId);
    const before = refunds[place];
    if (before !== undefined) {
      // The reason and the time of one of ours are those of its request.
      const { amountMinor, failure } = seen;
      const status = before.providerId === undefined ? seen.status : later(before.status, seen.status);
      const why = failure === undefined ? {} : { failure };
      refunds[place] = { ...before, providerId, amountMinor, status, ...why };
    } else {
      const isTaken = refunds.some(({ id }) => id === refundId);
      refunds.push({ id: isTaken ? providerId : (refundId ?? providerId), providerId, ...seen });
    }
  }
  const disputes = [...(recorded?.disputes ?? [])];
  for (const seen of provider.disputes) {
    const place = disputes.findIndex(({ id }) => id === seen.id);
    const before = disputes[place];
    if (before === undefined) disputes.push({ ...seen });
    else if (before.status === 'open' || seen.status !== 'open') disputes[place] = { ...before, ...seen };
  }
  return refunds.length + disputes.length === 0 ? undefined : reversalsOf(refunds, disputes, recorded);
}

/** Where the provider's refund is recorded. One of ours counts only once: a second one under its id is another refund. */
function placeOf(refunds: readonly Refund[], providerId: string, refundId: string | undefined): number {
  const known = refunds.findIndex((refund) => refund.providerId === providerId);
  if (known !== -1 || refundId === undefined) return known;
  return refunds.findIndex(({ id, providerId: taken }) => id === refundId && taken === undefined);
}

/** A refund never goes back to an earlier state. */
function later(one: RefundStatus, other: RefundStatus): RefundStatus {
  const order: readonly RefundStatus[] = ['requested', 'pending', 'succeeded', 'canceled', 'failed'];
  return order.indexOf(one) > order.indexOf(other) ? one : other;
}

/** Oldest first; of the same moment, by id. */
function inOrder<T extends { at: string }>(all: readonly T[], idOf: (one: T) => string): T[] {
  return all.toSorted((a, b) => compare(a.at, b.at) || compare(idOf(a), idOf(b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** These refunds and disputes with their sums. Pure. */
export function reversalsOf(
  refunds: readonly Refund[],
  disputes: readonly Dispute[],
  recorded?: Reversals,
): Reversals {
  const refunded = refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
  const disputed = disputes.filter(({ status }) => status !== 'won');
  return {
    ...recorded,
    refunds: inOrder(refunds, ({ id }) => id),
    disputes: inOrder(disputes, ({ id }) => id),
    refundedMinor: sum(refunded),
    disputedMinor: sum(disputed),
    latestAt:
      [...refunds, ...disputes]
        .map(({ at }) => at)
        .toSorted()
        .at(-1) ?? '',
  };
}

function sum(parts: readonly { amountMinor: number }[]): number {
  return parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
}
