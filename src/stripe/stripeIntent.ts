import type Stripe from 'stripe';
import { type DisputeStatus, isRefundId } from '../invoice/reversals.ts';
import type {
  ChargeOutcome,
  PaymentProgress,
  ProviderPayment,
  ProviderReversals,
} from '../paying/paymentProvider.ts';
import { minorAmount } from './stripeAmount.ts';
import { codeOf, declined } from './stripeErrors.ts';

/** The part of a payment intent that says how far it has come. */
type IntentState = Pick<Stripe.PaymentIntent, 'id'> & {
  status: string;
  latest_charge?: string | Pick<Stripe.Charge, 'failure_code'> | null;
  last_payment_error?: Pick<
    NonNullable<Stripe.PaymentIntent['last_payment_error']>,
    'advice_code' | 'code' | 'decline_code' | 'message'
  > | null;
};

/**
 * Reads the progress of an intent (https://docs.stripe.com/payments/paymentintents/lifecycle). A status that Stripe may add
 * one day counts as alive: the payment is followed, and never charged again. Pure.
 */
export function progressOf(intent: IntentState): PaymentProgress {
  switch (intent.status) {
    case 'succeeded':
      return { kind: 'succeeded' };
    case 'canceled':
      return { kind: 'canceled' };
    case 'requires_payment_method':
      return { ...failureOf(intent), kind: 'failed' };
    case 'requires_action':
    case 'requires_confirmation':
      return { kind: 'alive', state: intent.status, waitsForCustomer: true };
    default:
      return { kind: 'alive', state: intent.status };
  }
}

/** Converts the state of an intent into the outcome of a charge that was created and confirmed in one call. Pure. */
export function classifyIntent(intent: IntentState): ChargeOutcome {
  const progress = progressOf(intent);
  switch (progress.kind) {
    case 'succeeded':
      return { kind: 'succeeded', paymentId: intent.id };
    case 'alive':
      return { kind: 'processing', paymentId: intent.id, state: progress.state };
    case 'failed':
      return { ...progress, kind: 'declined' };
    case 'canceled':
      return declined('canceled', 'the payment intent is canceled');
  }
}

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

function failureOf({ last_payment_error: error, latest_charge: charge, status }: IntentState) {
  // For some debits only the charge tells the bank's reason.
  const ofCharge = typeof charge === 'object' ? charge?.failure_code : undefined;
  const code = error?.code === 'payment_intent_payment_attempt_failed' && ofCharge ? ofCharge : codeOf(error);
  if (code === undefined) return declined(status, `the payment intent is ${status}`);
  return declined(code, error?.message ?? 'no message given', error?.advice_code);
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
