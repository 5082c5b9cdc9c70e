import type { Invoice, PaymentState } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { softDeclined, unrecordedPayments, wasVoided } from '../invoice/namedPayments.ts';
import { nextKey } from '../invoice/paymentState.ts';
import { stepsOf } from '../invoice/timeline.ts';
import { checkNote } from './checkProvider.ts';
import {
  type Corrected,
  type CorrectionParts,
  ifStillSo,
  type NotCorrected,
  providerSays,
  recordPayment,
  whileUnchanged,
} from './corrections.ts';

export interface RetryWish {
  /** They have found that nothing was charged, and want a new charge. */
  notCharged?: boolean;
  paymentMethod?: string;
}

export type RetryDecision =
  /** Back to pending, with the payment state to continue from. */
  | { kind: 'retry'; payment: PaymentState }
  /** The same, but only if the provider has no payment for it. */
  | { kind: 'check'; payment: PaymentState }
  /** It is running, or has ended for good. */
  | { kind: 'refused'; status: InvoiceStatus }
  /** A charge under its key may have gone through, and the same key cannot be sent with another payment method. */
  | { kind: 'mayBeCharged' };

/**
 * Decides on the retry of an invoice. Pure.
 *
 * - Declined: nothing was charged under this key. Its number goes up, and the schedule of soft declines begins again.
 * - Parked: money may have moved. The key stays, with its age and its hash: the provider is asked under it, or the payment is
 *   looked up (paying/chargeUnderKey.ts). A new key takes a person who says that nothing was charged, and a check (`notCharged`).
 * - Pending, and it waits for a later try (`waits`): after a soft decline as if declined, after anything else as if parked.
 * - Another payment method needs a new key.
 * - An invoice that names a payment which nobody has recorded is never charged before the provider has been asked about it.
 */
export function decideRetry(
  { status, payment, timeline, erased }: Pick<Invoice, 'status' | 'payment' | 'timeline' | 'erased'>,
  wish: RetryWish = {},
  { waits = false }: { waits?: boolean } = {},
): RetryDecision {
  // Nobody knows any more whom to charge.
  if (erased !== undefined) return { kind: 'refused', status };
  const freely = unrecordedPayments({ payment, timeline }).length === 0 ? 'retry' : 'check';
  switch (status) {
    case 'claimed':
    case 'processing':
    case 'paid':
    case 'voided':
      return { kind: 'refused', status };
    case 'pending':
      if (!waits) return { kind: 'refused', status };
      // Nothing has happened to it since the decline: its present key has never been sent.
      return stepsOf(timeline).at(-1)?.what === softDeclined ? afterDecline() : mayBeCharged();
    case 'parked':
      return mayBeCharged();
    case 'declined':
      return afterDecline();
  }

  function afterDecline(): RetryDecision {
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

export type RetriedInvoice =
  | ({ kind: 'retried' } & Corrected)
  | Exclude<NotCorrected, { kind: 'notCanceled' }>;

/**
 * Puts an invoice that is parked, declined or waits for a later try back to pending, due now, on behalf of `actor`. Where a new
 * charge is asked for although the last one may have gone through, the provider is checked first.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export function retryInvoice(
  parts: CorrectionParts,
  id: string,
  { actor, reason, ...wish }: { actor: string; reason?: string } & RetryWish,
): Promise<RetriedInvoice> {
  const isPlain = wish.notCharged !== true && wish.paymentMethod === undefined;
  return whileUnchanged<RetriedInvoice>(parts.invoices, id, async (invoice) => {
    const waits = waitsForRetry(invoice, note().at);
    if (isPlain && waits) return write(invoice, dueNow(invoice, note()));
    const decision = decideRetry(invoice, wish, { waits });
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
    const view = await providerSays(parts, invoice);
    // It is retried to record a payment that turned up after the void, not to be charged.
    const isVoid = isPlain && wasVoided(invoice);
    switch (view.kind) {
      case 'differs':
      case 'notFound':
        if (view.kind === 'notFound' && isVoid)
          return {
            kind: 'unclear',
            message:
              'it was voided, and no payment of it holds money: void it again, or retry it with notCharged to charge it',
          };
        if (view.kind === 'differs' && wish.notCharged !== true)
          return { kind: 'unclear', message: view.message };
        return write(invoice, retried(invoice, payment, { ...note(), check: checkNote(view) }));
      case 'reversed':
        // It was charged after all. Another charge would be a second one under the same invoice.
        return { kind: 'unclear', message: `${checkNote(view)}: void the invoice` };
      case 'found':
      case 'processing':
        return recordPayment(parts, invoice, view);
      case 'wait':
        // Under the same key a call that is still in flight and the next one are one charge, and there is no other payment.
        return view.seen === 'notFound' && payment.keyNumber === invoice.payment.keyNumber && !isVoid
          ? write(invoice, retried(invoice, payment, note()))
          : { kind: 'wait', until: view.until };
      case 'silent':
        return view;
    }
  }

  async function write(
    invoice: Invoice,
    { entry, ...change }: InvoiceChange,
  ): Promise<RetriedInvoice | 'again'> {
    const written = await ifStillSo(parts, invoice, () => ({ change, entry }));
    return written === 'again' ? written : { kind: 'retried', ...written };
  }
}

/** The timeline's note of a retry. `at`: ISO 8601. `runId`: of a bulk run. */
export interface RetryNote extends RetryWish {
  actor: string;
  reason?: string;
  at: string;
  runId?: string;
  check?: string;
}

/** True if an invoice waits for a later try, so that a person can make it due now. Pure. */
export function waitsForRetry(
  { status, dueAt, actionableAt }: Pick<Invoice, 'status' | 'dueAt' | 'actionableAt'>,
  now: string,
): boolean {
  return status === 'pending' && actionableAt !== undefined && actionableAt > now && dueAt <= now;
}

/** Makes one that waits due now. Its key, its attempts and its schedule of declines stay as they are. Pure. */
export function dueNow({ actionableAt }: Pick<Invoice, 'actionableAt'>, note: RetryNote): InvoiceChange {
  const { at, actor: by, notCharged: _, ...told } = note;
  const from = actionableAt === undefined ? {} : { from: actionableAt };
  return { set: { actionableAt: at }, entry: { at, what: 'made due now', by, ...from, ...told } };
}

/** Puts an invoice back to pending, due now, with the payment state to go on from. Pure. */
export function retried(
  { status: from }: Pick<Invoice, 'status'>,
  payment: PaymentState,
  note: RetryNote,
): InvoiceChange {
  const { at, actor: by, notCharged, ...told } = note;
  const vouched = notCharged === true ? { notCharged } : {};
  return {
    set: { status: 'pending', actionableAt: at, attempts: 0, payment },
    clear: ['reason', 'declinedAt'],
    entry: { at, what: 'retried', by, from, keyNumber: payment.keyNumber, ...vouched, ...told },
  };
}
