import type { Ended, FollowUps } from '../followUps/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { overdueRefunds } from '../invoice/reversals.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { ownershipOf } from '../paying/foundPayment.ts';
import { noTurn, type PacedProvider, turnWithinMs } from '../paying/pacedProvider.ts';
import type { CancelOutcome, NotCalled, ProviderPayment } from '../paying/paymentProvider.ts';
import type { SettlementPolicy } from '../paying/settlement.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import { decideProgress, type ProgressDecision, secondPayment } from './decideProgress.ts';
import { orderOfRefunds } from './refundOrders.ts';

export interface TrackingParts {
  invoices: Pick<InvoiceStore, 'find' | 'update' | 'toCheck'>;
  provider: Pick<PacedProvider, 'within'>;
  followUps: FollowUps;
  settlement: Pick<SettlementPolicy, 'softDeclineRetryMs'>;
  instance: Pick<Instance, 'clock' | 'name' | 'telemetry'>;
}

/** What came of asking about a payment. */
export type Tracked =
  /** `status`: that of the invoice now. */
  | { kind: 'changed'; status: Invoice['status'] }
  | { kind: 'nothing' | 'notYet' }
  /** There is no such payment, or it names no invoice. */
  | { kind: 'notOurs'; message: string }
  /** The invoice that it names is not here, by a read that may be stale. */
  | { kind: 'notHere'; message: string }
  /** The provider could not say, or the turn of the call did not come. */
  | { kind: 'notAsked'; message: string };

/**
 * Retrieves a payment and records on its invoice what the provider says now. A timer or an event that asks for it only
 * gives a hint: nothing but the retrieved payment counts.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function trackPayment(
  parts: TrackingParts,
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
      return { kind: 'notAsked', message: noTurn };
    case 'heldBack':
    case 'unknown':
      return { kind: 'notAsked', message: payment.message };
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
  return canceled.kind === 'heldBack' || canceled.kind === 'notCalled';
}

/**
 * True for a payment of ours that waits for a customer who is not there, or that has failed and could be confirmed once more:
 * canceled, it can never charge after all. A shop's payment has a customer who may be about to confirm it.
 */
async function isOursToCancel(
  { invoices }: Pick<TrackingParts, 'invoices'>,
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

/**
 * Writes what a retrieved payment means for its invoice, and orders what follows, in one transaction.
 *
 * @throws {NoClearAnswer} {NewerVersion}
 */
export async function recordProgress(
  {
    invoices,
    followUps,
    settlement,
    instance: { clock, name: by, telemetry },
  }: Pick<TrackingParts, 'followUps' | 'settlement' | 'instance'> & {
    invoices: Pick<InvoiceStore, 'update'>;
  },
  invoiceId: string,
  payment: ProviderPayment,
  assertHeld: () => void,
): Promise<Tracked> {
  const now = clock.now();
  const at = new Date(now).toISOString();
  let ends: Extract<ProgressDecision, { kind: 'change' }>['ends'] = [];
  let isSecond = false;
  const updated = await invoices.update<Exclude<ProgressDecision['kind'], 'change'>>(invoiceId, {
    decide(invoice, occasion) {
      const decision = decideProgress(invoice, payment, settlement, now);
      if (decision.kind !== 'change') return { kind: 'refuse', why: decision.kind };
      const { change, entry, orders = [] } = decision;
      ends = decision.ends;
      isSecond = entry.what === secondPayment;
      const ended = ends.map(
        (end): Ended => ({ invoice: { ...invoice, invoiceId, keyNumber: invoice.payment.keyNumber }, end }),
      );
      return {
        kind: 'change',
        change: { ...change, entry: { at, by, ...entry } },
        messages: [
          ...followUps(ended, { shard: invoice.shard, occasion, now }),
          ...(orders.length === 0 ? [] : [orderOfRefunds(invoice, orders, { write: occasion, now })]),
        ],
      };
    },
    beforeTry: assertHeld,
  });
  switch (updated.kind) {
    case 'notFound':
      return {
        kind: 'notHere',
        message: `payment ${payment.paymentId} names invoice ${invoiceId}, which is not here`,
      };
    case 'refused':
      return { kind: updated.why };
    case 'updated': {
      if (isSecond) telemetry.count(metric.paymentSecond);
      const overdue = overdueRefunds(updated.invoice.reversals ?? { refunds: [] }).length;
      if (overdue > 0) telemetry.count(metric.refundOverdue, {}, overdue);
      for (const { kind } of ends) {
        if (kind === 'disputed' || kind === 'disputeLost') telemetry.count(metric.invoiceDisputed, { kind });
        if (kind === 'refundFailed') telemetry.count(metric.refundFailed);
        if (kind === 'parked') telemetry.count(metric.invoiceParked, { unknown: false });
      }
      return { kind: 'changed', status: updated.invoice.status };
    }
  }
}
