import { tolerantObject } from '@payonce/jobs/documents';
import { z } from 'zod';
import { reversalsCheckAt } from './nextCheck.ts';

/**
 * A refund of the payment, asked for through ops or at the provider:
 *
 *   requested ──the provider takes it──► pending ──► succeeded
 *       │                                   └──► failed | canceled
 *       └──it refuses──► failed
 *
 * Refunds of ours begin as `requested` (after/). The provider's states are recorded as it reports them. One that had succeeded may
 * still fail, for example because the card's account is closed (https://docs.stripe.com/refunds#failed-refunds).
 */
export const refundStatuses = ['requested', 'pending', 'succeeded', 'failed', 'canceled'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

/** Of which payment a refund or dispute is, and in which currency. Absent: the payment and the currency of the invoice. */
const ofPayment = { paymentId: z.string().exactOptional(), currency: z.string().exactOptional() };

const refundSchema = tolerantObject({
  /** Ours if it was asked for through ops, otherwise the provider's. */
  id: z.string(),
  /** Absent until the provider has taken it. */
  providerId: z.string().exactOptional(),
  amountMinor: z.number().int(),
  status: z.enum(refundStatuses),
  /** Time of the request (ISO 8601, UTC). */
  at: z.string(),
  /** Name of the person who asked for it through ops. */
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  /** Nobody named an amount: it is all that was left. */
  rest: z.literal(true).exactOptional(),
  /** The idempotency key that it was last sent under, if it is one of ours: its number, and when it was stored (ISO 8601). */
  key: tolerantObject({ number: z.number().int().min(1), createdAt: z.string() }).exactOptional(),
  /** Reason of its failure. */
  failure: z.string().exactOptional(),
  /** The `Idempotency-Key` of its request. */
  requestKey: z.string().exactOptional(),
  /** Time of the latest repeated order (ISO 8601). Absent: it was ordered once. */
  orderedAgainAt: z.string().exactOptional(),
  /** The provider's refund that may be this one. A person decides; until then this one is not made, and does not count. */
  mayBe: z.string().exactOptional(),
  /** The provider's refunds that are not this one: they were known before its request, or a person has decided. */
  others: z.array(z.string()).exactOptional(),
  ...ofPayment,
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
  /** Time of its opening (ISO 8601, UTC). */
  at: z.string(),
  reason: z.string(),
  /** Time until which the provider takes evidence (ISO 8601, UTC). Absent: it takes none. */
  evidenceDueAt: z.string().exactOptional(),
  ...ofPayment,
});
export type Dispute = z.infer<typeof disputeSchema>;

/** A payment too many: the invoice has another one. `at`: when it was noticed (ISO 8601). */
const secondPaymentSchema = tolerantObject({
  id: z.string(),
  amountMinor: z.number().int(),
  /** Absent: that of the invoice. */
  currency: z.string().exactOptional(),
  at: z.string(),
});
export type SecondPayment = z.infer<typeof secondPaymentSchema>;

export const reversalsSchema = tolerantObject({
  refunds: z.array(refundSchema),
  disputes: z.array(disputeSchema),
  /** Payments too many, whose refunds and disputes are among these. */
  payments: z.array(secondPaymentSchema).exactOptional(),
  /** Sum of the refunds of the invoice's payment that are requested, pending or succeeded, in minor units. */
  refundedMinor: z.number().int(),
  /** Sum of its disputes that are open or lost, in minor units; one in another currency is none of them. */
  disputedMinor: z.number().int(),
});
export type Reversals = z.infer<typeof reversalsSchema>;

/** True for ids that our refunds can have (after/refundInvoice.ts). Metadata at the provider may hold anything. */
export function isRefundId(text: string): boolean {
  return /^rf_[\w-]{43}$/.test(text);
}

/** Refunds whose money has gone back, or is about to. Pure. */
export function goneBack<T extends { status: string; mayBe?: string }>(refunds: readonly T[]): T[] {
  return refunds.filter(
    ({ status, mayBe }) => status !== 'failed' && status !== 'canceled' && mayBe === undefined,
  );
}

/** Disputes whose money is lost, or may be. Pure. */
export function atRisk<T extends { status: string }>(disputes: readonly T[]): T[] {
  return disputes.filter(({ status }) => status !== 'won');
}

/** Refunds that were ordered in vain so far, or that a person has to decide on. Pure. */
export function overdueRefunds({ refunds }: Pick<Reversals, 'refunds'>): Refund[] {
  return refunds.filter(
    ({ status, orderedAgainAt, mayBe }) =>
      status === 'requested' && (orderedAgainAt !== undefined || mayBe !== undefined),
  );
}

/** These refunds and disputes with their sums. Pure. */
export function reversalsOf(
  refunds: readonly Refund[],
  disputes: readonly Dispute[],
  recorded?: Partial<Reversals>,
): Reversals {
  return {
    ...recorded,
    refunds: inOrder(refunds, ({ id }) => id),
    disputes: inOrder(disputes, ({ id }) => id),
    refundedMinor: sum(goneBack(refunds)),
    disputedMinor: sum(atRisk(disputes)),
  };
}

/** Of the invoice's payment, in its currency. */
function sum(parts: readonly { amountMinor: number; paymentId?: string; currency?: string }[]): number {
  return parts
    .filter(({ paymentId, currency }) => paymentId === undefined && currency === undefined)
    .reduce((total, { amountMinor }) => total + amountMinor, 0);
}

/** Oldest first; of the same moment, by id. */
export function inOrder<T extends { at: string }>(all: readonly T[], idOf: (one: T) => string): T[] {
  return all.toSorted((a, b) => compare(a.at, b.at) || compare(idOf(a), idOf(b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Change of a paid invoice with new reversals, which includes the time of the next check. Pure. */
export function withReversals(
  reversals: Reversals,
  now: number,
): { set: { reversals: Reversals; checkAt?: string }; clear: 'checkAt'[] } {
  const checkAt = reversalsCheckAt(reversals, now);
  return checkAt === undefined
    ? { set: { reversals }, clear: ['checkAt'] }
    : { set: { reversals, checkAt }, clear: [] };
}
