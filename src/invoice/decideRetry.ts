import type { Invoice, InvoiceStatus, PaymentState } from './invoice.ts';

/** What a person's wish to have an invoice tried again comes to. */
export type RetryDecision =
  /** Back to pending, with the payment as it is to go on. */
  | { kind: 'retry'; from: InvoiceStatus; payment: PaymentState }
  /** It is under way, or paid. */
  | { kind: 'refused'; status: InvoiceStatus };

/**
 * Decides on the retry of an invoice. Pure: the write that follows is conditional on what was read.
 *
 * - Declined: the provider has said for certain that it charged nothing under this key, and would say so again. A new
 *   charge is meant, so the key's number goes up, and the schedule of soft declines begins anew.
 * - Parked: money may have moved. The key stays, with its age and its hash: as long as the provider remembers it, it is
 *   asked again under the same key, and after that the payment is looked up (paying/payInvoice.ts). Only where a person has
 *   looked at the provider and vouches that nothing was charged (`notCharged`) is it a new key.
 */
export function decideRetry(
  { status, payment }: Pick<Invoice, 'status' | 'payment'>,
  { notCharged = false }: { notCharged?: boolean } = {},
): RetryDecision {
  switch (status) {
    case 'pending':
    case 'claimed':
    case 'paid':
      return { kind: 'refused', status };
    case 'parked':
      return { kind: 'retry', from: status, payment: notCharged ? nextKey(payment) : payment };
    case 'declined':
      return { kind: 'retry', from: status, payment: afterDecline(payment) };
  }
}

/** A decline under a key whose fate is unknown all the same is no definite one. */
function afterDecline(payment: PaymentState): PaymentState {
  return payment.unknownSince === undefined ? nextKey(payment) : payment;
}

function nextKey(payment: PaymentState): PaymentState {
  return { keyNumber: payment.keyNumber + 1, declines: 0, deferrals: 0 };
}
