import type { Invoice } from '../invoice/invoice.ts';
import { unrecordedPayments } from '../invoice/namedPayments.ts';
import { known } from '../invoice/paymentState.ts';
import { voidUndone } from '../invoice/timeline.ts';
import { checkNote } from './checkProvider.ts';
import {
  type Corrected,
  type CorrectionParts,
  callsOf,
  ifStillSo,
  type NotCorrected,
  providerSays,
  recordPayment,
  whileUnchanged,
} from './corrections.ts';
import { type Recorded, whySilent } from './record.ts';

export type VoidDecision =
  /** Nothing was charged, and nobody is about to charge. */
  | { kind: 'void' }
  /** Only if the provider has no payment for it. */
  | { kind: 'check' }
  /** A payment is alive: only if the provider cancels it. */
  | { kind: 'cancel'; paymentId: string }
  | { kind: 'refuse'; status: 'claimed' | 'paid' | 'processing' | 'voided' };

/**
 * Decides if an invoice may be voided. A decline is the provider's word for its key, and a key that was never claimed was never
 * sent. Everything else may have been charged, whatever the last answer under the key was: another delivery of its batch may have
 * been in flight. So may one that names a payment which nobody has recorded. Pure.
 */
export function decideVoid(invoice: Pick<Invoice, 'status' | 'payment' | 'timeline'>): VoidDecision {
  const { status, payment, timeline } = invoice;
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

/** Change of an invoice that is voided. Its outcome is known from now on. Pure. */
export function voided({ payment }: Pick<Invoice, 'payment'>, reason: string): Recorded['change'] {
  return {
    set: { status: 'voided', reason, payment: known(payment) },
    clear: ['actionableAt', 'checkAt', 'declinedAt'],
  };
}

export type VoidedInvoice =
  /** `repeated`: this person had voided it for this reason before. */
  ({ kind: 'voided'; repeated: boolean } & Corrected) | Exclude<NotCorrected, { kind: 'mayBeCharged' }>;

/**
 * Voids an invoice that nothing was charged for, on behalf of `actor` or of a bulk run of theirs. What may have been charged is looked
 * for first, and a payment that is alive is canceled if the provider still does that. Of a void and a claim, one wins.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function voidInvoice(
  parts: CorrectionParts,
  id: string,
  { actor, reason, runId }: { actor: string; reason: string; runId?: string },
): Promise<VoidedInvoice> {
  return whileUnchanged<VoidedInvoice>(parts.invoices, id, async (invoice) => {
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
    const view = await providerSays(parts, invoice);
    switch (view.kind) {
      case 'notFound':
      case 'differs':
      case 'reversed':
        return write(invoice, { check: checkNote(view), ...why });
      case 'found':
      case 'processing': {
        const recorded = await recordPayment(parts, invoice, view);
        // A payment that is alive may still be canceled.
        return recorded === 'again' || recorded.status === 'processing' ? 'again' : recorded;
      }
      case 'wait':
        return { kind: 'wait', until: view.until };
      case 'silent':
        return view;
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
      case 'unknown':
        // As when it does not know the payment.
        if (outcome.answered === true) return check(invoice);
        return { kind: 'silent', message: whySilent(outcome) };
      case 'notCalled':
      case 'blocked':
        return { kind: 'silent', message: whySilent(outcome) };
    }
  }

  async function write(invoice: Invoice, why: Record<string, string> = {}): Promise<VoidedInvoice | 'again'> {
    const run = runId === undefined ? {} : { runId };
    const entry = { what: 'voided', by: actor, from: invoice.status, reason, ...run, ...why };
    const written = await ifStillSo(parts, invoice, () => ({ change: voided(invoice, reason), entry }));
    return written === 'again' ? written : { kind: 'voided', repeated: false, ...written };
  }

  /** Somebody whose answer was lost asks again, and gets it. */
  function isSame({ status, timeline }: Invoice): boolean {
    const last = timeline.findLast(({ what }) => what === 'voided');
    return status === 'voided' && last?.by === actor && last.reason === reason;
  }
}

/** Decides whether a void is undone: only if no key was ever sent, so that the next charge is the first. Pure. */
export function decideUndo(
  invoice: Pick<Invoice, 'status' | 'dueAt' | 'payment' | 'timeline' | 'erased'>,
): Pick<Recorded, 'kind' | 'change'> | Extract<NotCorrected, { kind: 'refused' | 'mayBeCharged' }> {
  const { status, dueAt, payment, timeline, erased } = invoice;
  if (status !== 'voided' || erased !== undefined) return { kind: 'refused', status };
  // A key that started over has no age, but the timeline has the claim that sent it, or that the provider was asked.
  const isUsed = timeline.some(({ batchId, check }) => (batchId ?? check) !== undefined);
  if (isUsed || payment.keyNumber > 1 || decideVoid({ status: 'pending', payment, timeline }).kind !== 'void')
    return { kind: 'mayBeCharged' };
  return { kind: 'change', change: { set: { status: 'pending', actionableAt: dueAt }, clear: ['reason'] } };
}

/** Undoes the void of an invoice on behalf of `actor`: it is pending again, due when it was. @throws {NoClearAnswer} {NewerVersion} */
export function undoVoid(
  parts: CorrectionParts,
  id: string,
  { actor: by, reason }: { actor: string; reason: string },
) {
  return whileUnchanged<({ kind: 'undone' } & Corrected) | NotCorrected>(
    parts.invoices,
    id,
    async (invoice) => {
      const decision = decideUndo(invoice);
      if (decision.kind !== 'change') return decision;
      const entry = { what: voidUndone, by, reason };
      const written = await ifStillSo(parts, invoice, () => ({ change: decision.change, entry }));
      return written === 'again' ? written : { kind: 'undone', ...written };
    },
  );
}
