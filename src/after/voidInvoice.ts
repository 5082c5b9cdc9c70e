import type { Invoice } from '../invoice/invoice.ts';
import { unrecordedPayments } from '../invoice/namedPayments.ts';
import { noTurn } from '../paying/pacedProvider.ts';
import { ifStillSo, whileUnchanged } from './attempts.ts';
import { callsOf, checked, recordPayment } from './check.ts';
import type { Corrected, CorrectionParts, NotCorrected } from './corrections.ts';
import { decideVoid, voided } from './decideVoid.ts';

export type VoidedInvoice =
  /** `repeated`: this person had voided it for this reason before. */
  ({ kind: 'voided'; repeated: boolean } & Corrected) | Exclude<NotCorrected, { kind: 'mayBeCharged' }>;

/**
 * Voids an invoice that nothing was charged for, on behalf of `actor`. What may have been charged is looked for at the
 * provider first, and a payment that is alive is canceled, if the provider still does that.
 *
 * The write holds only if the invoice is as it was when this was decided: of a void and a claim, one wins.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function voidInvoice(
  parts: CorrectionParts,
  id: string,
  { actor, reason }: { actor: string; reason: string },
): Promise<VoidedInvoice> {
  const { invoices } = parts;
  return whileUnchanged<VoidedInvoice>(invoices, id, async (invoice) => {
    const decision = decideVoid(invoice);
    switch (decision.kind) {
      case 'refuse': {
        const repeated = isSame(invoice);
        return repeated
          ? { kind: 'voided', repeated, from: invoice.status, invoice }
          : { kind: 'refused', status: decision.status };
      }
      case 'void':
        return write(invoice);
      case 'cancel':
        return cancel(invoice, decision.paymentId);
      case 'check':
        return check(invoice);
    }
  });

  async function check(invoice: Invoice, why: Record<string, string> = {}): Promise<VoidedInvoice | 'again'> {
    const after = await checked(parts, invoice);
    switch (after.kind) {
      case 'uncharged':
      case 'differs':
      case 'reversedInFull':
        return write(invoice, { check: after.check, ...why });
      case 'record': {
        const recorded = await recordPayment(parts, invoice, after.payment);
        // A payment that is alive may still be canceled.
        return recorded === 'again' || recorded.status === 'processing' ? 'again' : recorded;
      }
      case 'wait':
      case 'silent':
        return after;
    }
  }

  async function cancel(invoice: Invoice, paymentId: string): Promise<VoidedInvoice | 'again'> {
    const outcome = await callsOf(parts).cancel(paymentId);
    switch (outcome.kind) {
      case 'canceled': {
        const canceled = { canceled: paymentId };
        // A second payment that the invoice names may hold its money.
        const isNamed = unrecordedPayments(invoice).some((id) => id !== paymentId);
        return isNamed ? check(invoice, canceled) : write(invoice, canceled);
      }
      case 'refused':
        return { kind: 'notCanceled', paymentId, message: outcome.message };
      case 'notCalled':
        return { kind: 'silent', message: noTurn };
      case 'heldBack':
      case 'unknown':
        return { kind: 'silent', message: outcome.message };
    }
  }

  async function write(invoice: Invoice, why: Record<string, string> = {}): Promise<VoidedInvoice | 'again'> {
    const at = new Date(parts.instance.clock.now()).toISOString();
    const entry = {
      at,
      what: 'voided',
      by: actor,
      from: invoice.status,
      reason,
      ...why,
    };
    const written = await ifStillSo(invoices, invoice, voided(invoice, reason, entry));
    return written === 'again' ? written : { kind: 'voided', repeated: false, ...written };
  }

  /** Somebody whose answer was lost asks again, and gets it. */
  function isSame({ status, timeline }: Invoice): boolean {
    const last = timeline.findLast(({ what }) => what === 'voided');
    return status === 'voided' && last?.by === actor && last.reason === reason;
  }
}
