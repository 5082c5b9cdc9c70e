import { createHash } from 'node:crypto';

/**
 * The idempotency key of an invoice's charge number `n`. A header takes ASCII only and Stripe at most 255 characters
 * (https://docs.stripe.com/api/idempotent_requests), so other ids enter by their hash.
 */
export function idempotencyKey(invoiceId: string, n: number): string {
  const plain = /^[\x21-\x7e]{1,200}$/.test(invoiceId);
  return `invoice-${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('base64url')}-${n}`;
}

/**
 * A key older than this (milliseconds) is never sent again. Stripe keeps the result of a key for at least 24 h
 * (https://docs.stripe.com/api/idempotent_requests); after that, sending it would be a new charge.
 */
const maxKeyAgeMs = 23 * 3600 * 1000;

/** Whether a key that was first claimed at `createdAt` (ISO 8601) may not be sent any more at `now` (milliseconds). */
export function isTooOld(createdAt: string, now: number): boolean {
  return now - Date.parse(createdAt) > maxKeyAgeMs;
}
