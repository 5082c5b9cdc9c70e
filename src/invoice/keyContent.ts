import { createHash } from 'node:crypto';

/**
 * The types of payment methods that a charge may use, in Stripe's words. Stripe leaves out those that do not go with the
 * currency (https://docs.stripe.com/changelog/dahlia/2026-07-29/allowed-payment-method-types-parameter).
 */
export const methodTypes = ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'] as const;

/** Everything that is sent under an idempotency key. */
export interface KeyContent {
  customerId: string;
  amountMinor: number;
  currency: string;
  paymentMethod: string;
  description?: string;
}

/**
 * Hash of everything that is sent under an idempotency key: Stripe refuses a key that comes with other parameters
 * (https://docs.stripe.com/api/idempotent_requests).
 */
export function paramsHash(content: KeyContent): string {
  const { customerId, amountMinor, currency, paymentMethod, description = null } = content;
  const sent = [customerId, amountMinor, currency, paymentMethod, description, methodTypes];
  return createHash('sha256').update(JSON.stringify(sent)).digest('base64url');
}
