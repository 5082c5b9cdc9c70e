import type { Invoice, PaymentState } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import { ifStillSo, whileUnchanged } from './attempts.ts';
import { checked, recordPayment } from './check.ts';
import type { Corrected, CorrectionParts, NotCorrected } from './corrections.ts';
import { decideRetry, type RetryWish } from './decideRetry.ts';
import { dueNow, type RetryNote, retried, waitsForRetry } from './retryChanges.ts';

export type RetriedInvoice =
  | ({ kind: 'retried' } & Corrected)
  | Exclude<NotCorrected, { kind: 'notCanceled' }>;

/**
 * Puts a parked or declined invoice back to pending, due now, on behalf of `actor`; one that waits for a later try is made
 * due now. Where a new charge is asked for although the last one may have gone through, the provider is checked first. If
 * somebody else is faster (a reconciliation finds the payment), the invoice is read and decided again.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function retryInvoice(
  parts: CorrectionParts,
  id: string,
  { actor, reason, ...wish }: { actor: string; reason?: string } & RetryWish,
): Promise<RetriedInvoice> {
  const { invoices } = parts;
  const isPlain = wish.notCharged !== true && wish.paymentMethod === undefined;
  return whileUnchanged<RetriedInvoice>(invoices, id, async (invoice) => {
    if (isPlain && waitsForRetry(invoice, note().at)) return write(invoice, dueNow(invoice, note()));
    const decision = decideRetry(invoice, wish);
    switch (decision.kind) {
      case 'refused':
      case 'mayBeCharged':
        return decision;
      case 'retry':
        return write(invoice, retried(invoice, decision.payment, note()));
      case 'check':
        return check(invoice, decision.payment);
    }
  });

  function note(): RetryNote {
    const at = new Date(parts.instance.clock.now()).toISOString();
    return { at, actor, ...wish, ...(reason === undefined ? {} : { reason }) };
  }

  async function check(invoice: Invoice, payment: PaymentState): Promise<RetriedInvoice | 'again'> {
    const after = await checked(parts, invoice);
    switch (after.kind) {
      case 'differs':
        if (wish.notCharged !== true) return { kind: 'unclear', message: after.message };
        return write(invoice, retried(invoice, payment, { ...note(), check: after.check }));
      case 'uncharged':
        return write(invoice, retried(invoice, payment, { ...note(), check: after.check }));
      case 'reversedInFull':
        // It was charged after all. Another charge would be a second one under the same invoice.
        return { kind: 'unclear', message: `${after.check}: void the invoice` };
      case 'record':
        return recordPayment(parts, invoice, after.payment);
      case 'wait':
        // Under the same key a call that is still on its way and the next one are one charge.
        return payment.keyNumber === invoice.payment.keyNumber
          ? write(invoice, retried(invoice, payment, note()))
          : after;
      case 'silent':
        return after;
    }
  }

  async function write(invoice: Invoice, change: InvoiceChange): Promise<RetriedInvoice | 'again'> {
    const written = await ifStillSo(invoices, invoice, change);
    return written === 'again' ? written : { kind: 'retried', ...written };
  }
}
