import type { Invoice } from '../invoice/invoice.ts';
import type { EventHint } from '../paying/paymentProvider.ts';

/**
 * Whether an event about a payment can tell anything new about its invoice, or the provider need not be asked. Most events
 * are about cards that were charged a moment ago, and the answer to the charge has said it all. Pure.
 *
 * A wrong or forged hint does no harm: to leave a payment alone is what happens without an event, and otherwise the payment
 * is retrieved.
 */
export function decideHint(
  { status, payment }: Pick<Invoice, 'status' | 'payment'>,
  { hint, paymentId }: { hint: EventHint; paymentId: string },
): 'retrieve' | 'putOff' | 'nothing' {
  // A refund or dispute that comes too early has to wait for the settlement: only the payment shows whether it is one.
  if (hint === 'reversed') return 'retrieve';
  switch (status) {
    case 'paid':
      // Another payment that moves money is one too many.
      return payment.id === paymentId || hint === 'failed' ? 'nothing' : 'retrieve';
    case 'claimed':
      // Its settlement says what came of the charge. Another payment must not be forgotten meanwhile.
      return hint === 'failed' ? 'nothing' : 'putOff';
    case 'processing':
      if (payment.inProgress?.id === paymentId) return hint === 'alive' ? 'nothing' : 'retrieve';
      return hint === 'failed' ? 'nothing' : 'retrieve';
    case 'pending':
    case 'parked':
    case 'declined':
    case 'voided':
      return hint === 'failed' ? 'nothing' : 'retrieve';
  }
}
