import { createHash } from 'node:crypto';

/* What an idempotency key is: its name, how long it may be sent, and the fingerprint of the request that it stands for. */

/**
 * The idempotency key of an invoice's charge number `n`. A header takes ASCII only and Stripe at most 255 characters
 * (https://docs.stripe.com/api/idempotent_requests), so other ids are replaced by their hash.
 */
export function idempotencyKey(invoiceId: string, n: number): string {
  const plain = /^[\x21-\x7e]{1,200}$/.test(invoiceId);
  return `invoice-${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('base64url')}-${n}`;
}

/**
 * A key older than this (milliseconds) is never sent again. Stripe keeps the result of a key for at least 24 h
 * (https://docs.stripe.com/api/idempotent_requests); after that, sending it would be a new charge.
 */
export const maxKeyAgeMs = 23 * 3600 * 1000;

/** True if an idempotency key first claimed at `createdAt` (ISO 8601) may no longer be sent at `now` (milliseconds). */
export function isTooOld(createdAt: string, now: number): boolean {
  return now - Date.parse(createdAt) > maxKeyAgeMs;
}

/**
 * The types of payment methods that a charge may use, in Stripe's words. Stripe leaves out those that do not go with the
 * currency (https://docs.stripe.com/changelog/dahlia/2026-07-29/allowed-payment-method-types-parameter).
 */
export const methodTypes = ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'] as const;

/** Everything that is sent under an idempotency key. */
interface KeyContent {
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
