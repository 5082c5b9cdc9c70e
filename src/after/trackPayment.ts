import type { Invoice } from '../invoice/invoice.ts';
import { overdueRefunds } from '../invoice/reversals.ts';
import { ownershipOf } from '../paying/foundPayment.ts';
import {
  turnWithinMs,
  type CancelOutcome,
  type NotCalled,
  type ProviderPayment,
} from '../paying/paymentProvider.ts';
import { metric } from '../platform/appMetrics.ts';
import { decideProgress, type ProgressDecision, secondPayment } from './decideProgress.ts';
import { type AfterParts, type Recorded, type RecordParts, record, whySilent } from './record.ts';

export type Tracked =
  /** `status`: that of the invoice now. */
  | { kind: 'changed'; status: Invoice['status'] }
  | { kind: 'nothing' | 'unsettled' }
  /** There is no such payment, or it names no invoice. */
  | { kind: 'notOurs'; message: string }
  /** The invoice that it names is not here, by a read that may be stale. */
  | { kind: 'notHere'; message: string }
  /** The provider could not say, or the turn of the call did not come. */
  | { kind: 'notAsked'; message: string };

/** Retrieves a payment, and records on its invoice what the provider says now. @throws {NoClearAnswer} {NewerVersion} */
export async function trackPayment(
  parts: AfterParts,
  paymentId: string,
  assertHeld: () => void = () => {},
): Promise<Tracked> {
  const { clock } = parts.instance;
  const calls = parts.provider.within({ before: clock.monotonic() + turnWithinMs });
  let payment = await calls.retrieve(paymentId);
  if (payment.kind === 'payment' && (await isOursToCancel(parts, payment))) {
    const canceled = await calls.cancel(paymentId);
    const seen = await calls.retrieve(paymentId);
    const failed = payment.progress.kind === 'failed';
    const mayBeConfirmed = seen.kind === 'payment' && seen.progress.kind === 'failed';
    if (mayBeConfirmed && isUnanswered(canceled))
      return { kind: 'notAsked', message: `it is not known if payment ${paymentId} is canceled` };
    // It has failed for its own reason, which says when the next try is due.
    payment = failed && seen.kind === 'payment' && seen.progress.kind === 'canceled' ? payment : seen;
  }
  switch (payment.kind) {
    case 'notCalled':
    case 'blocked':
    case 'unknown':
      return { kind: 'notAsked', message: whySilent(payment) };
    case 'notFound':
      return { kind: 'notOurs', message: `the provider has no payment ${paymentId}` };
    case 'payment': {
      const { invoiceId } = payment;
      if (invoiceId === undefined)
        return { kind: 'notOurs', message: `payment ${paymentId} names no invoice` };
      return recordProgress(parts, invoiceId, payment, assertHeld);
    }
  }
}

/** True if the provider has not said what became of a cancellation. One that it refuses as such is answered. */
function isUnanswered(canceled: CancelOutcome | NotCalled): boolean {
  if (canceled.kind === 'unknown') return canceled.answered !== true;
  return canceled.kind === 'blocked' || canceled.kind === 'notCalled';
}

/**
 * True for a payment of ours that waits for a customer who is not there, or that has failed and could be confirmed once more:
 * canceled, it can never charge after all. A shop's payment has a customer who may be about to confirm it.
 */
async function isOursToCancel(
  { invoices }: Pick<AfterParts, 'invoices'>,
  payment: ProviderPayment,
): Promise<boolean> {
  const { invoiceId, progress } = payment;
  const waits = progress.kind === 'alive' && progress.waitsForCustomer === true;
  if (invoiceId === undefined || payment.madeBy !== 'us' || !(waits || progress.kind === 'failed'))
    return false;
  const invoice = await invoices.find(invoiceId);
  if (invoice === undefined || ownershipOf(payment, invoice) !== 'ours') return false;
  return waits || invoice.payment.inProgress?.id === payment.paymentId;
}

/** Records what a retrieved payment means for its invoice. @throws {NoClearAnswer} {NewerVersion} */
export async function recordProgress(
  parts: RecordParts & Pick<AfterParts, 'settlement'>,
  invoiceId: string,
  payment: ProviderPayment,
  assertHeld: () => void,
): Promise<Tracked> {
  let isSecond: boolean | undefined;
  const updated = await record<Exclude<ProgressDecision, Recorded>>(
    parts,
    invoiceId,
    (invoice, now) => {
      const decision = decideProgress(invoice, payment, parts.settlement, now);
      isSecond = decision.kind === 'change' && decision.entry.what === secondPayment;
      return decision;
    },
    assertHeld,
  );
  if (updated.kind === 'notFound')
    return {
      kind: 'notHere',
      message: `payment ${payment.paymentId} names invoice ${invoiceId}, which is not here`,
    };
  if (updated.kind !== 'updated') return updated;
  const { telemetry } = parts.instance;
  if (isSecond) telemetry.count(metric.paymentSecond);
  const overdue = overdueRefunds(updated.invoice.reversals ?? { refunds: [] }).length;
  if (overdue > 0) telemetry.count(metric.refundOverdue, {}, overdue);
  return { kind: 'changed', status: updated.invoice.status };
}
