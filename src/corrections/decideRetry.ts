import { type Invoice, nextKey, type PaymentState, unrecordedPayments } from '../invoice/invoice.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';

/** What a person asks for besides another try. */
export interface RetryWish {
  /** They have found that nothing was charged, and want a new charge. */
  notCharged?: boolean;
  /** Charge this payment method from now on. */
  paymentMethod?: string;
}

/** What becomes of a person's request to try an invoice again. */
export type RetryDecision =
  /** Back to pending, with the payment state to continue from. */
  | { kind: 'retry'; payment: PaymentState }
  /** The same, but only if the provider has no payment for it. */
  | { kind: 'check'; payment: PaymentState }
  /** It is under way, or has ended for good. */
  | { kind: 'refused'; status: InvoiceStatus }
  /** A charge under its key may have gone through, and the same key cannot be sent with another payment method. */
  | { kind: 'mayBeCharged' };

/**
 * Decides on the retry of an invoice. Pure.
 *
 * - Declined: the provider has said that it charged nothing under this key, and would say so again. A new charge is meant,
 *   so the key's number goes up, and the schedule of soft declines begins again.
 * - Parked: money may have moved. The key stays, with its age and its hash: as long as the provider remembers it, it is
 *   asked again under the same key, and after that the payment is looked up (paying/chargeUnderKey.ts). It gets a new key
 *   only for a person who says that nothing was charged (`notCharged`), and only after the provider has been checked.
 * - Another payment method needs a new key.
 * - An invoice that names a payment which nobody has recorded is never charged before the provider has been asked about it.
 */
export function decideRetry(
  { status, payment, timeline, erased }: Pick<Invoice, 'status' | 'payment' | 'timeline' | 'erased'>,
  wish: RetryWish = {},
): RetryDecision {
  // Nobody knows any more whom to charge.
  if (erased !== undefined) return { kind: 'refused', status };
  const freely = unrecordedPayments({ payment, timeline }).length === 0 ? 'retry' : 'check';
  switch (status) {
    case 'pending':
    case 'claimed':
    case 'processing':
    case 'paid':
    case 'voided':
      return { kind: 'refused', status };
    case 'parked':
      return mayBeCharged();
    case 'declined':
      // It is not definite if the outcome of an earlier call under the key is unknown.
      return payment.unknownSince === undefined ? { kind: freely, payment: newCharge() } : mayBeCharged();
  }

  function mayBeCharged(): RetryDecision {
    if (wish.notCharged === true) return { kind: 'check', payment: newCharge() };
    if (wish.paymentMethod === undefined) return { kind: freely, payment };
    return payment.unknownSince === undefined
      ? { kind: 'check', payment: newCharge() }
      : { kind: 'mayBeCharged' };
  }

  function newCharge(): PaymentState {
    const next = nextKey(payment, { declines: 0 });
    return wish.paymentMethod === undefined
      ? next
      : { ...next, method: { id: wish.paymentMethod, from: 'retry' } };
  }
}
