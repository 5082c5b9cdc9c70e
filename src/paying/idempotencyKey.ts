import { createHash } from 'node:crypto';

/**
 * The idempotency key of an invoice's charge number `n`. A header takes ASCII only and Stripe at most 255 characters
 * (https://docs.stripe.com/api/idempotent_requests), so other ids enter by their hash.
 */
export function idempotencyKey(invoiceId: string, n: number): string {
  const plain = /^[\x21-\x7e]{1,200}$/.test(invoiceId);
  return `invoice-${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('base64url')}-${n}`;
}
