import { createHash } from 'node:crypto';

/**
 * The forms in which a charge is requested. A key keeps the form that it was first sent in, whatever later releases would
 * send: Stripe refuses a key that comes with other parameters (https://docs.stripe.com/api/idempotent_requests).
 */
const methodTypes = {
  /** Up to 0.2.0. */
  1: ['card'],
  /**
   * Stripe leaves out those that do not go with the currency
   * (https://docs.stripe.com/changelog/dahlia/2026-07-29/allowed-payment-method-types-parameter).
   */
  2: ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'],
} as const;

/** The types of payment methods that a charge may use, in Stripe's words. */
export type MethodTypes = (typeof methodTypes)[keyof typeof methodTypes];

const newestForm = 2;

/** What an idempotency key stands for. */
export interface KeyContent {
  customerId: string;
  amountMinor: number;
  currency: string;
  paymentMethod: string;
  description?: string;
}

/** The form that a hash was made for; of a key that was never used, the newest. */
export function requestForm(paramsHash: string | undefined): 1 | 2 {
  return paramsHash === undefined || paramsHash.startsWith('2.') ? newestForm : 1;
}

/** The types of payment methods that a key with this hash allows. */
export function methodTypesOf(paramsHash: string): MethodTypes {
  return methodTypes[requestForm(paramsHash)];
}

/**
 * Hash of everything that is sent under an idempotency key, in the form that `like` has; without it, in the newest. It
 * begins with the form, unless that is 1: so releases up to 0.2.0 made it.
 */
export function paramsHash(content: KeyContent, like?: string): string {
  const { customerId, amountMinor, currency, paymentMethod, description = null } = content;
  const form = requestForm(like);
  const sent = [customerId, amountMinor, currency, paymentMethod, description];
  const canonical = JSON.stringify(form === 1 ? sent : [...sent, methodTypes[form]]);
  const hash = createHash('sha256').update(canonical).digest('base64url');
  return form === 1 ? hash : `${form}.${hash}`;
}
