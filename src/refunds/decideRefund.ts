import type { Invoice, InvoiceStatus } from '../invoice/invoice.ts';
import { type Refund, type Reversals, reversalsOf } from '../invoice/reversals.ts';
import { stripeAmount } from '../stripe/stripeAmount.ts';

/** What a person asks for. */
export interface RefundWish {
  refundId: string;
  /** Absent: all that is left. */
  amountMinor?: number;
  reason: string;
  by: string;
  /** The `Idempotency-Key` of the request. */
  requestKey: string;
}

export type RefundDecision =
  | { kind: 'request'; refund: Refund; reversals: Reversals }
  /** This refund was asked for before. */
  | { kind: 'repeated'; refund: Refund }
  /** Another refund was asked for under the same key. */
  | { kind: 'otherRequest'; refund: Refund }
  | { kind: 'notPaid'; status: InvoiceStatus }
  /** Less is left: the rest has gone back, or is about to. */
  | { kind: 'tooMuch'; leftMinor: number }
  /** The provider takes no such amount of this currency. */
  | { kind: 'badAmount'; error: string }
  | { kind: 'tooMany'; most: number };

/** Refunds of one invoice: each is kept with it, and a document must not grow without bound. */
const mostRefunds = 100;

/**
 * Decides on a refund that is asked for at `at` (ISO 8601). What is requested, pending or has succeeded never exceeds what
 * was paid; a refund that failed frees its amount. Disputes take nothing from it: whether a disputed payment can be refunded
 * is for the provider to say (https://docs.stripe.com/disputes/how-disputes-work). Pure.
 */
export function decideRefund(
  { status, amountMinor: paidMinor, currency, reversals }: Invoice,
  { refundId, amountMinor, reason, by, requestKey }: RefundWish,
  at: string,
): RefundDecision {
  const known = reversals?.refunds.find(({ id }) => id === refundId);
  if (known !== undefined) {
    return {
      kind: isSameRequest(known, { amountMinor, reason }) ? 'repeated' : 'otherRequest',
      refund: known,
    };
  }
  if (status !== 'paid') return { kind: 'notPaid', status };
  const leftMinor = Math.max(0, paidMinor - (reversals?.refundedMinor ?? 0));
  const wanted = amountMinor ?? leftMinor;
  if (wanted === 0 || wanted > leftMinor) return { kind: 'tooMuch', leftMinor };
  const amount = stripeAmount(wanted, currency);
  if ('refused' in amount) return { kind: 'badAmount', error: amount.refused };
  const refunds = reversals?.refunds ?? [];
  if (refunds.length >= mostRefunds) return { kind: 'tooMany', most: mostRefunds };
  const rest = amountMinor === undefined ? { rest: true as const } : {};
  const asked = { amountMinor: wanted, at, by, reason, requestKey, ...rest };
  const refund: Refund = { id: refundId, status: 'requested', ...asked };
  return {
    kind: 'request',
    refund,
    reversals: reversalsOf([...refunds, refund], reversals?.disputes ?? [], reversals),
  };
}

/**
 * Whether the same is asked for. After a restore from a backup the refund may be known from the provider only, which has
 * neither the reason nor how the amount was given.
 */
function isSameRequest(
  known: Refund,
  { amountMinor, reason }: { amountMinor: number | undefined; reason: string },
): boolean {
  if (known.by === undefined) return amountMinor === undefined || amountMinor === known.amountMinor;
  const sameAmount =
    amountMinor === undefined
      ? known.rest === true
      : known.rest === undefined && known.amountMinor === amountMinor;
  return sameAmount && known.reason === reason;
}
