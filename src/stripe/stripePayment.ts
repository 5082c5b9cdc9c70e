import type Stripe from 'stripe';
import { type DisputeStatus, isRefundId } from '../invoice/reversals.ts';
import type { ProviderPayment, ProviderReversals } from '../paying/paymentProvider.ts';
import { minorAmount } from './stripeAmount.ts';
import { progressOf } from './stripeIntent.ts';

/** A payment in our terms, for the deployment that asks. Pure. */
export function paymentFrom(
  intent: Stripe.PaymentIntent,
  reversals: ProviderReversals,
  deployment: string | undefined,
): ProviderPayment {
  const { id: paymentId, customer, amount, amount_received: received, metadata } = intent;
  const progress = progressOf(intent);
  const currency = intent.currency.toUpperCase();
  const customerId = typeof customer === 'string' ? customer : customer?.id;
  const { invoiceId, deployment: maker } = metadata;
  return {
    kind: 'payment',
    paymentId,
    ...(invoiceId === undefined ? {} : { invoiceId }),
    ...(maker === undefined || deployment === undefined
      ? {}
      : { madeBy: maker === deployment ? ('us' as const) : ('others' as const) }),
    ...(customerId === undefined ? {} : { customerId }),
    // A part of an authorization may have been captured: no refund tells of the rest
    // (https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow).
    amountMinor: minorAmount(progress.kind === 'succeeded' ? received : amount, currency),
    currency,
    progress,
    reversals,
  };
}

/** Refunds and disputes in our terms; amounts in minor units of their own currency. Pure. */
export function reversalsFrom(
  refunds: readonly Stripe.Refund[],
  disputes: readonly Stripe.Dispute[],
  currency: string,
): ProviderReversals {
  const minor = (amount: number) => minorAmount(amount, currency.toUpperCase());
  return {
    refunds: refunds.map(({ id, amount, status, created, reason, metadata, failure_reason: failure }) => {
      const refundId = metadata?.refundId;
      return {
        providerId: id,
        ...(refundId !== undefined && isRefundId(refundId) ? { refundId } : {}),
        amountMinor: minor(amount),
        status: refundStatus(status ?? 'pending'),
        at: isoOf(created),
        ...(reason ? { reason } : {}),
        ...(failure ? { failure } : {}),
      };
    }),
    disputes: disputes.map((dispute) => {
      const { id, amount, created, reason, evidence_details } = dispute;
      const own = dispute.currency.toUpperCase();
      return {
        id,
        amountMinor: minorAmount(amount, own),
        ...(own === currency.toUpperCase() ? {} : { currency: own }),
        status: disputeStatus(dispute),
        at: isoOf(created),
        reason,
        ...(evidence_details?.due_by ? { evidenceDueAt: isoOf(evidence_details.due_by) } : {}),
      };
    }),
  };
}

/** A refund that waits for somebody to act is in progress, too (https://docs.stripe.com/api/refunds/object). */
export function refundStatus(status: string): 'pending' | 'succeeded' | 'failed' | 'canceled' {
  switch (status) {
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return status;
    default:
      return 'pending';
  }
}

/**
 * An inquiry that was closed took no money (https://docs.stripe.com/disputes/how-disputes-work). A dispute is prevented by a block,
 * or by giving the money back (https://docs.stripe.com/changelog/basil/2025-08-27/add-preventions-to-dispute).
 */
function disputeStatus({ status, balance_transactions: moved }: Stripe.Dispute): DisputeStatus {
  if (status === 'prevented') return moved.reduce((sum, { amount }) => sum + amount, 0) < 0 ? 'lost' : 'won';
  if (status === 'lost') return 'lost';
  return status === 'won' || status === 'warning_closed' ? 'won' : 'open';
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
