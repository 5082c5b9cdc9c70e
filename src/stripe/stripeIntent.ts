import type Stripe from 'stripe';
import type { ChargeOutcome, PaymentProgress } from '../paying/paymentProvider.ts';
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

function failureOf({ last_payment_error: error, latest_charge: charge, status }: IntentState) {
  // For some debits only the charge tells the bank's reason.
  const ofCharge = typeof charge === 'object' ? charge?.failure_code : undefined;
  const code = error?.code === 'payment_intent_payment_attempt_failed' && ofCharge ? ofCharge : codeOf(error);
  if (code === undefined) return declined(status, `the payment intent is ${status}`);
  return declined(code, error?.message ?? 'no message given', error?.advice_code);
}
