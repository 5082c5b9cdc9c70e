import type { InvoiceDocument } from './steps.ts';

/**
 * True if an invoice says that nothing was charged under its idempotency key: nobody is calling for it, and
 * no call has ended without a clear answer. A person may then void it, and an old idempotency key of it
 * starts over.
 */
export function saysNeverCalled({ status, claim, payment }: InvoiceDocument): boolean {
  if (payment.unknownSince !== undefined) return false;
  return status === 'pending' || (status === 'claimed' && claim?.phase === 'claimed');
}
