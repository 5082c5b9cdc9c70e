import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/**
 * A refund of the payment, asked for through ops or at the provider:
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
});
export type Reversals = z.infer<typeof reversalsSchema>;

/** Whether this can be the id of a refund of ours (refunds/refundKeys.ts). Metadata at the provider may hold anything. */
export function isRefundId(text: string): boolean {
  return /^rf_[\w-]{43}$/.test(text);
}

/** Refunds whose money has gone back, or is about to. Pure. */
export function goneBack<T extends { status: string }>(refunds: readonly T[]): T[] {
  return refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
}

/** Disputes whose money is lost, or may be. Pure. */
export function atRisk<T extends { status: string }>(disputes: readonly T[]): T[] {
  return disputes.filter(({ status }) => status !== 'won');
}

/** These refunds and disputes with their sums. Pure. */
export function reversalsOf(
  refunds: readonly Refund[],
  disputes: readonly Dispute[],
  recorded?: Reversals,
): Reversals {
  return {
    ...recorded,
    refunds: inOrder(refunds, ({ id }) => id),
    disputes: inOrder(disputes, ({ id }) => id),
    refundedMinor: sum(goneBack(refunds)),
    disputedMinor: sum(atRisk(disputes)),
  };
}

function sum(parts: readonly { amountMinor: number }[]): number {
  return parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
}

/** Oldest first; of the same moment, by id. */
export function inOrder<T extends { at: string }>(all: readonly T[], idOf: (one: T) => string): T[] {
  return all.toSorted((a, b) => compare(a.at, b.at) || compare(idOf(a), idOf(b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
