import { randomUUID } from 'node:crypto';
import { checkAmount } from './amounts.ts';
import { children, type Form, flag, integer, onlyKnown, required } from './form.ts';
import type { Decline } from './paymentMethods.ts';
import { invalid, unsupported } from './refusal.ts';

/**
 * A payment intent, in the shape of Stripe's API. The states
 * (https://docs.stripe.com/payments/paymentintents/lifecycle) that cards pass through here:
 *
 *     requires_payment_method ◄─declined─┐
 *       └─ method given ─► requires_confirmation ─ confirm ─► succeeded
 *                                        └─ customer must act ─► requires_action
 *     any but succeeded ─ cancel ─► canceled
 */
export interface Intent {
  id: string;
  object: 'payment_intent';
  amount: number;
  amount_received: number;
  capture_method: 'automatic';
  created: number;
  currency: string;
  customer: string | null;
  description: string | null;
  last_payment_error: { type: 'card_error'; code: string; decline_code?: string; message: string } | null;
  latest_charge: string | null;
  livemode: false;
  metadata: Record<string, string>;
  next_action: { type: 'use_stripe_sdk' } | null;
  payment_method: string | null;
  payment_method_types: ['card'];
  status: 'requires_payment_method' | 'requires_confirmation' | 'requires_action' | 'succeeded' | 'canceled';
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
const nestedParameters = ['metadata', 'allowed_payment_method_types', 'automatic_payment_methods'];

/** A new, unconfirmed intent. @throws {Refusal} */
export function newIntent(form: Form, now: number): Intent {
  checkMethodTypes(form);
  onlyKnown(form, createParameters, nestedParameters);
  const amount = integer('amount', required(form, 'amount'));
  const currency = required(form, 'currency').toLowerCase();
  checkAmount(amount, currency);
  if (!flag(form, 'confirm') && form.has('off_session')) {
    throw invalid('off_session', "The parameter `off_session` cannot be passed unless `confirm` is 'true'.");
  }
  return {
    id: newId('pi'),
    object: 'payment_intent',
    amount,
    amount_received: 0,
    capture_method: 'automatic',
    created: Math.floor(now / 1000),
    currency,
    customer: form.get('customer') ?? null,
    description: form.get('description') ?? null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: children(form, 'metadata'),
    next_action: null,
    payment_method: form.get('payment_method') ?? null,
    payment_method_types: ['card'],
    status: form.has('payment_method') ? 'requires_confirmation' : 'requires_payment_method',
  };
}

export function succeeded(intent: Intent, charge: string): Intent {
  return {
    ...intent,
    status: 'succeeded',
    amount_received: intent.amount,
    latest_charge: charge,
    last_payment_error: null,
    next_action: null,
  };
}

/** A decline clears the payment method: the intent needs another. */
export function declinedIntent(intent: Intent, { code, declineCode, message }: Decline): Intent {
  return {
    ...intent,
    status: 'requires_payment_method',
    payment_method: null,
    last_payment_error: {
      type: 'card_error',
      code,
      ...(declineCode === undefined ? {} : { decline_code: declineCode }),
      message,
    },
  };
}

export function newId(prefix: 'pi' | 'ch' | 'req'): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}

/**
 * Only cards are supported. Stripe no longer accepts `payment_method_types`
 * (https://docs.stripe.com/changelog/endive/2026-09-30/removes-the-payment-method-types-parameter-from-payment-intents-and-setup-intents).
 * Confirming on creation requires a `return_url`, unless no allowed method can redirect.
 *
 * @throws {Refusal}
 */
function checkMethodTypes(form: Form): void {
  const allowed = Object.values(children(form, 'allowed_payment_method_types'));
  const automatic = children(form, 'automatic_payment_methods');
  if ('0' in children(form, 'payment_method_types')) {
    throw invalid(
      'payment_method_types',
      'payment_method_types is no longer supported: use allowed_payment_method_types.',
      'payment_method_types_no_longer_supported',
    );
  }
  if (allowed.length > 0 && Object.keys(automatic).length > 0) {
    throw invalid(
      'allowed_payment_method_types',
      'You may only specify one of allowed_payment_method_types, automatic_payment_methods.',
      'parameters_exclusive',
    );
  }
  if (allowed.length > 0 && !allowed.includes('card')) throw unsupported('payment methods other than cards');
  const mayRedirect = automatic.allow_redirects !== 'never' && allowed.length === 0;
  if (flag(form, 'confirm') && mayRedirect && !form.has('return_url')) {
    throw invalid(
      undefined,
      'A payment method might redirect the customer: give a `return_url`, or `allowed_payment_method_types`, or ' +
        'set `automatic_payment_methods[allow_redirects]` to `never`.',
    );
  }
}
