import { type Invoice, known, type TimelineEntry } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import { unrecordedPayments } from '../invoice/namedPayments.ts';

/** What becomes of a person's request to void an invoice. */
export type VoidDecision =
  /** Nothing was charged, and nobody is about to charge. */
  | { kind: 'void' }
  /** Only if the provider has no payment for it. */
  | { kind: 'check' }
  /** A payment is alive: only if the provider cancels it. */
  | { kind: 'cancel'; paymentId: string }
  | { kind: 'refuse'; status: 'claimed' | 'paid' | 'processing' | 'voided' };

/**
 * Decides whether an invoice may be voided. Pure.
 *
 * A decline is the provider's word for its key, and a key that was never claimed was never sent. Everything else may have been
 * charged, even if the last answer under the key said otherwise: two deliveries of its batch may have been under way, and
 * only one of them had the last word. So may one that names a payment which nobody has recorded.
 */
export function decideVoid({
  status,
  payment,
  timeline,
}: Pick<Invoice, 'status' | 'payment' | 'timeline'>): VoidDecision {
  const { unknownSince, keyCreatedAt, inProgress } = payment;
  const freely = unrecordedPayments({ payment, timeline }).length === 0 ? 'void' : 'check';
  switch (status) {
    case 'claimed':
    case 'paid':
    case 'voided':
      return { kind: 'refuse', status };
    case 'processing':
      return inProgress === undefined
        ? { kind: 'refuse', status }
        : { kind: 'cancel', paymentId: inProgress.id };
    case 'pending':
      return { kind: unknownSince === undefined && keyCreatedAt === undefined ? freely : 'check' };
    case 'declined':
      return { kind: unknownSince === undefined ? freely : 'check' };
    case 'parked':
      return { kind: 'check' };
  }
}

/** What voiding writes. Its outcome is known from now on. Pure. */
export function voided(
  { payment }: Pick<Invoice, 'payment'>,
  reason: string,
  entry: TimelineEntry,
): InvoiceChange {
  return {
    set: { status: 'voided', reason, payment: known(payment) },
    clear: ['actionableAt', 'checkAt', 'declinedAt'],
    entry,
  };
}
