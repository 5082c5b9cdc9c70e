import { newId } from './ids.ts';
import type { Intent } from './intent.ts';
import type { MethodType } from './methodTypes.ts';
import { epochSeconds, type Moment } from './moment.ts';

/** A charge, in the shape of Stripe's API (https://docs.stripe.com/api/charges/object). */
export interface Charge {
  id: string;
  object: 'charge';
  amount: number;
  amount_captured: number;
  amount_refunded: number;
  captured: boolean;
  created: number;
  currency: string;
  customer: string | null;
  description: string | null;
  disputed: boolean;
  failure_code: string | null;
  failure_message: string | null;
  livemode: false;
  metadata: Record<string, string>;
  paid: boolean;
  payment_intent: string;
  payment_method: string | null;
  payment_method_details: { type: MethodType };
  /** True if all of it is refunded. */
  refunded: boolean;
  status: 'pending' | 'succeeded' | 'failed';
}

/** Begins an intent's charge. A charge of a bank account has an id that begins with `py`. */
export function pendingCharge(intent: Intent, type: MethodType, moment: Moment): Charge {
  return {
    id: newId(type === 'card' ? 'ch' : 'py'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    captured: false,
    created: epochSeconds(moment),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: intent.metadata,
    paid: false,
    payment_intent: intent.id,
    payment_method: intent.payment_method,
    payment_method_details: { type },
    refunded: false,
    status: 'pending',
  };
}

export function succeededCharge(charge: Charge): Charge {
  return { ...charge, amount_captured: charge.amount, captured: true, paid: true, status: 'succeeded' };
}

export function failedCharge(charge: Charge, code: string | null, message: string | null): Charge {
  return { ...charge, failure_code: code, failure_message: message, status: 'failed' };
}
