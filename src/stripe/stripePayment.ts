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
  const { id: paymentId, customer, amount, metadata } = intent;
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
    amountMinor: minorAmount(amount, currency),
    currency,
    progress: progressOf(intent),
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
    disputes: disputes.map(({ id, amount, currency: own, status, created, reason, evidence_details }) => ({
      id,
      amountMinor: minorAmount(amount, own.toUpperCase()),
      ...(own.toUpperCase() === currency.toUpperCase() ? {} : { currency: own.toUpperCase() }),
      status: disputeStatus(status),
      at: isoOf(created),
      reason,
      ...(evidence_details?.due_by ? { evidenceDueAt: isoOf(evidence_details.due_by) } : {}),
    })),
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

/** An inquiry that was closed took no money (https://docs.stripe.com/disputes/how-disputes-work). */
function disputeStatus(status: string): DisputeStatus {
  if (status === 'lost') return 'lost';
  return status === 'won' || status === 'warning_closed' || status === 'prevented' ? 'won' : 'open';
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
