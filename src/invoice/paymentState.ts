import { tolerantObject } from '@payonce/jobs/documents';
import { z } from 'zod';

/** Progress of an invoice's payment. */
export const paymentStateSchema = tolerantObject({
  /** Number of the idempotency key `{deployment}-invoice-{id}-{n}`; rises only after a definite decline. */
  keyNumber: z.number().int().min(1),
  /** First claim of the key of this number (ISO 8601, UTC). Absent until then. */
  keyCreatedAt: z.string().exactOptional(),
  /** Hash of all that the key stands for: the same key must never be sent with other parameters. */
  paramsHash: z.string().exactOptional(),
  /** Soft declines so far: the place in the retry schedule. */
  declines: z.number().int(),
  /** Tries in a row that certainly charged nothing: the exponent of the backoff. */
  deferrals: z.number().int(),
  /** Time from which a charge under this key may have gone through (ISO 8601). Absent once the outcome is known. */
  unknownSince: z.string().exactOptional(),
  /** First time that the provider found no payment under a key too old to be sent (ISO 8601). */
  noneFoundAt: z.string().exactOptional(),
  /**
   * The payment method to charge instead of the imported one: the customer's default, resolved for this key, or one that a
   * person gave with a retry.
   */
  method: tolerantObject({ id: z.string(), from: z.enum(['customer', 'retry']) }).exactOptional(),
  /** The payment that is alive at the provider; only of an invoice that is processing. */
  inProgress: tolerantObject({
    id: z.string(),
    /** The provider's word for its state. */
    state: z.string(),
    /** ISO 8601. */
    since: z.string(),
    /** Number of checks so far. */
    checks: z.number().int(),
  }).exactOptional(),
  /** The provider's id of the payment, once it succeeded. */
  id: z.string().exactOptional(),
  paidAt: z.string().exactOptional(),
});
export type PaymentState = z.infer<typeof paymentStateSchema>;

export const firstPaymentState: PaymentState = { keyNumber: 1, declines: 0, deferrals: 0 };

/** The state of a payment that may have gone through, unknown since `at` unless it has been so for longer. */
export function unknownSince<State extends PaymentState>(payment: State, at: string): State {
  return { ...payment, unknownSince: payment.unknownSince ?? at };
}

/** The state of a payment whose outcome under its key is known, or that is about to be followed by its id. */
export function known(payment: PaymentState): PaymentState {
  const { unknownSince: _, noneFoundAt: __, inProgress: ___, ...state } = payment;
  return state;
}

/**
 * The state in which the next charge is a new one, under the next key. A customer's default was that of this key: the next one
 * asks again. Fields of a newer release are kept.
 */
export function nextKey(payment: PaymentState, { declines }: { declines: number }): PaymentState {
  const { keyCreatedAt: _, paramsHash: __, method, ...state } = known(payment);
  const next = { ...state, keyNumber: payment.keyNumber + 1, declines, deferrals: 0 };
  return method?.from === 'retry' ? { ...next, method } : next;
}
