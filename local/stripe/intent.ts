import { checkAmount } from './amounts.ts';
import { children, type Form, flag, integer, onlyKnown, required } from './form.ts';
import { newId } from './ids.ts';
import { allowedTypes, compatibleTypes, type MethodType } from './methodTypes.ts';
import { epochSeconds, type Moment } from './moment.ts';
import { checkKnown, invalid } from './refusal.ts';
import type { Decline } from './testMethod.ts';

/**
 * A payment intent, in the shape of Stripe's API. The states here
 * (https://docs.stripe.com/payments/paymentintents/lifecycle):
 *
 *     requires_payment_method ◄─declined─┬────────────failed───────────┐
 *       └─ method given ─► requires_confirmation ─ confirm ─┬─► processing ─► succeeded
 *                                        │                  └─► succeeded
 *                                        └─ customer must act ─► requires_action
 *     any but succeeded ─ cancel ─► canceled (processing: within a limited time, bank debits only)
 */
export interface Intent {
  id: string;
  object: 'payment_intent';
  /** Types that the caller allows. Null: the choice is Stripe's. */
  allowed_payment_method_types: string[] | null;
  amount: number;
  amount_received: number;
  canceled_at: number | null;
  cancellation_reason: string | null;
  capture_method: 'automatic';
  created: number;
  currency: string;
  customer: string | null;
  description: string | null;
  last_payment_error: PaymentError | null;
  latest_charge: string | null;
  livemode: false;
  metadata: Record<string, string>;
  next_action: { type: 'use_stripe_sdk' } | null;
  payment_method: string | null;
  /** Types that can pay it: the allowed ones that its currency permits. */
  payment_method_types: MethodType[];
  status:
    | 'requires_payment_method'
    | 'requires_confirmation'
    | 'requires_action'
    | 'processing'
    | 'succeeded'
    | 'canceled';
}

export interface PaymentError {
  type: 'card_error' | 'invalid_request_error';
  code: string;
  decline_code?: string;
  message: string;
  charge?: string;
}

const createParameters = new Set([
  'amount',
  'currency',
  'customer',
  'payment_method',
  'description',
  'confirm',
  'off_session',
  'return_url',
]);
const nestedParameters = ['metadata', 'allowed_payment_method_types', 'automatic_payment_methods', 'expand'];

/** A new, unconfirmed intent. @throws {Refusal} */
export function newIntent(form: Form, moment: Moment): Intent {
  checkMethodTypes(form);
  onlyKnown(form, createParameters, nestedParameters);
  const amount = integer('amount', required(form, 'amount'));
  const currency = required(form, 'currency').toLowerCase();
  checkAmount(amount, currency);
  if (!flag(form, 'confirm') && form.has('off_session')) {
    throw invalid('off_session', "The parameter `off_session` cannot be passed unless `confirm` is 'true'.");
  }
  const allowed = allowedTypes(form);
  return {
    id: newId('pi'),
    object: 'payment_intent',
    allowed_payment_method_types: allowed ?? null,
    amount,
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    created: epochSeconds(moment),
    currency,
    customer: customerOf(form),
    description: form.get('description') ?? null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: children(form, 'metadata'),
    next_action: null,
    payment_method: form.get('payment_method') ?? null,
    payment_method_types: compatibleTypes(allowed, currency),
    status: form.has('payment_method') ? 'requires_confirmation' : 'requires_payment_method',
  };
}

export function processingIntent(intent: Intent, charge: string): Intent {
  return {
    ...intent,
    status: 'processing',
    latest_charge: charge,
    last_payment_error: null,
    next_action: null,
  };
}

export function succeededIntent(intent: Intent, charge: string): Intent {
  return {
    ...intent,
    status: 'succeeded',
    amount_received: intent.amount,
    latest_charge: charge,
    last_payment_error: null,
    next_action: null,
  };
}

/** A decline or a failure clears the payment method: the intent needs another. */
export function failedIntent(
  intent: Intent,
  type: PaymentError['type'],
  { code, declineCode, message }: Decline,
  charge: string,
): Intent {
  return {
    ...intent,
    status: 'requires_payment_method',
    latest_charge: charge,
    payment_method: null,
    last_payment_error: {
      type,
      code,
      ...(declineCode === undefined ? {} : { decline_code: declineCode }),
      message,
      charge,
    },
  };
}

/**
 * Stripe no longer accepts `payment_method_types`
 * (https://docs.stripe.com/changelog/endive/2026-09-30/removes-the-payment-method-types-parameter-from-payment-intents-and-setup-intents).
 * Confirming on creation requires a `return_url`, unless no allowed method can redirect.
 *
 * @throws {Refusal}
 */
function checkMethodTypes(form: Form): void {
  const allowed = allowedTypes(form);
  const automatic = children(form, 'automatic_payment_methods');
  if ('0' in children(form, 'payment_method_types')) {
    throw invalid(
      'payment_method_types',
      'payment_method_types is no longer supported: use allowed_payment_method_types.',
      'payment_method_types_no_longer_supported',
    );
  }
  if (allowed !== undefined && Object.keys(automatic).length > 0) {
    throw invalid(
      'allowed_payment_method_types',
      'You may only specify one of allowed_payment_method_types, automatic_payment_methods.',
      'parameters_exclusive',
    );
  }
  const mayRedirect = automatic.allow_redirects !== 'never' && allowed === undefined;
  if (flag(form, 'confirm') && mayRedirect && !form.has('return_url')) {
    throw invalid(
      undefined,
      'A payment method might redirect the customer: give a `return_url`, or `allowed_payment_method_types`, or ' +
        'set `automatic_payment_methods[allow_redirects]` to `never`.',
    );
  }
}

function customerOf(form: Form): string | null {
  const customer = form.get('customer');
  if (customer === undefined || customer === null) return null;
  checkKnown(customer);
  return customer;
}
