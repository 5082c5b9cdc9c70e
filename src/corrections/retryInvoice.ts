import { randomUUID } from 'node:crypto';
import type { Invoice, PaymentState } from '../invoice/invoice.ts';
import { ifStillSo, whileUnchanged } from './attempts.ts';
import { checked, recordPayment } from './check.ts';
import type { Corrected, CorrectionParts, NotCorrected } from './corrections.ts';
import { decideRetry, type RetryWish } from './decideRetry.ts';

export type RetriedInvoice =
  | ({ kind: 'retried' } & Corrected)
  | Exclude<NotCorrected, { kind: 'notCanceled' }>;

/**
 * Puts a parked or declined invoice back to pending, due now, on behalf of `actor`. Where a new charge is asked for although
 * the last one may have gone through, the provider is checked first. If somebody else is faster (a reconciliation finds the payment),
 * the invoice is read and decided again.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function retryInvoice(
  parts: CorrectionParts,
  id: string,
  { actor, reason, ...wish }: { actor: string; reason?: string } & RetryWish,
): Promise<RetriedInvoice> {
  const { invoices } = parts;
  return whileUnchanged<RetriedInvoice>(invoices, id, async (invoice) => {
    const decision = decideRetry(invoice, wish);
    switch (decision.kind) {
      case 'refused':
      case 'mayBeCharged':
        return decision;
      case 'retry':
        return write(invoice, decision.payment);
      case 'check':
        return check(invoice, decision.payment);
    }
  });

  async function check(invoice: Invoice, payment: PaymentState): Promise<RetriedInvoice | 'again'> {
    const after = await checked(parts, invoice);
    switch (after.kind) {
      case 'uncharged':
        return write(invoice, payment, { check: after.check });
      case 'reversedInFull':
        // It was charged after all. Another charge would be a second one under the same invoice.
        return { kind: 'unclear', message: after.check };
      case 'record':
        return recordPayment(parts, invoice, after.payment);
      case 'wait':
      case 'unclear':
      case 'silent':
        return after;
    }
  }

  async function write(
    invoice: Invoice,
    payment: PaymentState,
    found: { check?: string } = {},
  ): Promise<RetriedInvoice | 'again'> {
    const at = new Date(parts.instance.clock.now()).toISOString();
    const { keyNumber } = payment;
    const why = {
      ...(reason === undefined ? {} : { reason }),
      ...(wish.notCharged === true ? { notCharged: true } : {}),
      ...(wish.paymentMethod === undefined ? {} : { paymentMethod: wish.paymentMethod }),
      ...found,
    };
    const entry = { at, what: 'retried', by: actor, from: invoice.status, keyNumber, write: randomUUID() };
    const written = await ifStillSo(invoices, invoice, {
      set: { status: 'pending', actionableAt: at, attempts: 0, payment },
      clear: ['reason', 'declinedAt'],
      entry: { ...entry, ...why },
    });
    return written === 'again' ? written : { kind: 'retried', ...written };
  }
}
