import { type Invoice, type InvoiceStatus, nextKey, type PaymentState } from './invoice.ts';

/** What becomes of a person's request to try an invoice again. */
export type RetryDecision =
  /** Back to pending, with the payment state to continue from. */
  | { kind: 'retry'; payment: PaymentState }
  /** It is under way, or paid. */
  | { kind: 'refused'; status: InvoiceStatus };

/**
 * Decides on the retry of an invoice. Pure.
 *
 * - Declined: the provider has said that it charged nothing under this key, and would say so again. A new charge is meant,
 *   so the key's number goes up, and the schedule of soft declines begins again.
 * - Parked: money may have moved. The key stays, with its age and its hash: as long as the provider remembers it, it is
 *   asked again under the same key, and after that the payment is looked up (paying/chargeUnderKey.ts). It gets a new key only
 *   if a person has looked at the provider and vouches that nothing was charged (`notCharged`).
 */
export function decideRetry(
  { status, payment }: Pick<Invoice, 'status' | 'payment'>,
  { notCharged = false }: { notCharged?: boolean } = {},
): RetryDecision {
  switch (status) {
    case 'pending':
    case 'claimed':
    case 'processing':
    case 'paid':
    case 'voided':
      return { kind: 'refused', status };
    case 'parked':
      return { kind: 'retry', payment: notCharged ? nextKey(payment, { declines: 0 }) : payment };
    case 'declined':
      return { kind: 'retry', payment: afterDecline(payment) };
  }
}

/** A decline is not definite if the outcome of an earlier call under the key is unknown. */
function afterDecline(payment: PaymentState): PaymentState {
  return payment.unknownSince === undefined ? nextKey(payment, { declines: 0 }) : payment;
}
