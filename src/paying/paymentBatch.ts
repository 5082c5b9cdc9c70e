import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Invoice, paymentStateSchema } from '../invoice/invoice.ts';

/**
 * The order to pay one invoice, as the outbox carries it to the consumer. It holds all that the charge needs, so that
 * the consumer reads nothing: that the invoice is still this batch's is checked by the transaction that starts it.
 */
export const paymentCommandSchema = z.strictObject({
  invoiceId: z.string().min(1),
  customerId: z.string(),
  amountMinor: z.int().positive(),
  currency: z.string().length(3),
  paymentMethod: z.string().min(1),
  description: z.string().exactOptional(),
  /** Which claim of the invoice this is, from 1. */
  attempt: z.int().min(1),
  payment: paymentStateSchema.required({ keyCreatedAt: true, paramsHash: true }),
});
export type PaymentCommand = z.infer<typeof paymentCommandSchema>;

/** One message: all commands of one batch, claimed in one transaction. */
export const paymentBatchSchema = z.strictObject({
  // It stands in the conditions of patches, which take no parameters: nothing may be in it that ends a string there.
  batchId: z.string().regex(/^[\w-]{1,64}$/, 'expected 1 to 64 letters, digits, - or _'),
  shard: z.string().regex(/^[0-9a-f]{2}$/, 'two hex digits'),
  runId: z.string(),
  commands: z.array(paymentCommandSchema).min(1).max(96),
});
export type PaymentBatch = z.infer<typeof paymentBatchSchema>;

/** The command that claims an invoice at time `at` (ISO 8601). A key that is in use already keeps its age and hash. */
export function commandFor(
  invoice: Invoice,
  { attempt, at }: { attempt: number; at: string },
): PaymentCommand {
  const { id: invoiceId, customerId, amountMinor, currency, paymentMethod, description, payment } = invoice;
  return {
    invoiceId,
    customerId,
    amountMinor,
    currency,
    paymentMethod,
    ...(description === undefined ? {} : { description }),
    attempt,
    payment: {
      ...payment,
      keyCreatedAt: payment.keyCreatedAt ?? at,
      paramsHash: payment.paramsHash ?? paramsHash(invoice),
    },
  };
}

/** Hash of everything that is sent under an idempotency key. */
export function paramsHash(
  charge: Pick<PaymentCommand, 'customerId' | 'amountMinor' | 'currency' | 'paymentMethod' | 'description'>,
): string {
  const { customerId, amountMinor, currency, paymentMethod, description = null } = charge;
  const canonical = JSON.stringify([customerId, amountMinor, currency, paymentMethod, description]);
  return createHash('sha256').update(canonical).digest('base64url');
}

/**
 * The idempotency key of an invoice's charge number `n`. A header takes no text beyond ASCII and Stripe at most 255
 * characters (https://docs.stripe.com/api/idempotent_requests), so other ids enter by their hash.
 */
export function idempotencyKey(invoiceId: string, n: number): string {
  const plain = /^[\x21-\x7e]{1,200}$/.test(invoiceId);
  return `invoice-${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('base64url')}-${n}`;
}
