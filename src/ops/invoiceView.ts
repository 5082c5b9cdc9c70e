import type { Clock } from '@payonce/leases/clock';
import { decideDueDate } from '../after/moveDueDate.ts';
import { decideRetry, waitsForRetry } from '../after/retryInvoice.ts';
import { decideUndo, decideVoid } from '../after/voidInvoice.ts';
import type { Invoice, StoredEntry } from '../invoice/invoice.ts';
import { stepsOf } from '../invoice/timeline.ts';
import type { InvoiceAnswer, InvoiceDetailAnswer, Permitted, Waiting } from './answers/invoiceAnswers.ts';
import { ofMove, ofUndo, ofVoid, whyNotCorrected } from './notCorrected.ts';

export function invoiceView(invoice: Invoice): InvoiceAnswer {
  const { id, customerId, amountMinor, currency, dueAt, paymentMethod = null, description = null } = invoice;
  const { status, shard, actionableAt = null, claim = null, payment, attempts, reason = null } = invoice;
  const { reversals = null, checkAt = null, importedDueAt = null, archivedAt = null, createdAt } = invoice;
  const { declinedAt = null } = invoice;
  const waiting = waitingOf(invoice);
  const content = { id, customerId, amountMinor, currency, dueAt, paymentMethod, description };
  const state = { status, shard, actionableAt, claim, payment, attempts, reason, waiting };
  return { ...content, ...state, declinedAt, reversals, checkAt, importedDueAt, archivedAt, createdAt };
}

/**
 * The same, with its timeline and the corrections that it allows as it is stored. A call may still refuse, because the provider has
 * another word to say. Pure.
 */
export function invoiceDetail(invoice: Invoice, clock: Pick<Clock, 'now'>): InvoiceDetailAnswer {
  const { timeline } = invoice;
  const now = new Date(clock.now()).toISOString();
  const undo = decideUndo(invoice);
  const move = decideDueDate(invoice, invoice.dueAt);
  const actions = {
    retry: retryOf(invoice, now),
    void: decideVoid(invoice).kind === 'refuse' ? no(`It is ${ofVoid.refused(invoice.status)}.`) : yes,
    undoVoid: undo.kind === 'change' ? yes : no(`${whyNotCorrected('It', undo, ofUndo)}.`),
    refund: refundOf(invoice),
    moveDueDate: move.kind === 'move' ? yes : no(`${whyNotCorrected('It', move, ofMove)}.`),
  };
  return { ...invoiceView(invoice), actions, timeline };
}

/** Null if it has ended, or if a person has to look at it. Pure. */
export function waitingOf(invoice: Invoice): Waiting | null {
  const { status, actionableAt, checkAt, claim, payment, timeline } = invoice;
  const until = actionableAt ?? null;
  switch (status) {
    case 'pending':
      return { why: retryReason(stepsOf(timeline).at(-1)) ?? 'its due date', until };
    case 'claimed':
      return claim?.phase === 'calling'
        ? { why: `its payment is being made by ${claim.by}`, until }
        : { why: `its turn to be paid, claimed by ${claim?.by ?? 'somebody'}`, until };
    case 'processing':
      return {
        why: `its payment is ${payment.inProgress?.state ?? 'alive'} at the provider`,
        until: checkAt ?? null,
      };
    case 'paid':
    case 'declined':
    case 'parked':
    case 'voided':
      return null;
  }
}

/** The timeline says why a payment is tried again (paying/settlement.ts). */
function retryReason(last: StoredEntry | undefined): string | undefined {
  if (last === undefined || !last.what.startsWith('retry: ')) return undefined;
  return typeof last.reason === 'string' ? `${last.what}: ${last.reason}` : last.what;
}

const yes: Permitted = { allowed: true };
const no = (why: string): Permitted => ({ allowed: false, why });

function retryOf(invoice: Invoice, now: string): Permitted {
  if (invoice.erased !== undefined) return no('Its customer has been erased.');
  const { status, dueAt } = invoice;
  if (decideRetry(invoice, {}, { waits: waitsForRetry(invoice, now) }).kind !== 'refused') return yes;
  if (status === 'pending')
    return no(
      dueAt > now ? 'It is not due yet: move its due date instead.' : 'It is due: start a run instead.',
    );
  const why = notRetried[status];
  return why === undefined ? yes : no(why);
}

const notRetried: Readonly<Partial<Record<Invoice['status'], string>>> = {
  claimed: 'It is being paid right now: wait for the outcome.',
  processing: 'Its payment is in progress at the provider: wait for the outcome, or void it.',
  paid: 'It is paid: there is nothing to retry.',
  voided: 'It is voided: undo the void, or import it under another id to charge it.',
};

function refundOf({ status, amountMinor, reversals }: Invoice): Permitted {
  if (status !== 'paid') return no(`It is ${status}: only paid invoices are refunded, others are voided.`);
  return amountMinor > (reversals?.refundedMinor ?? 0) ? yes : no('All of it has been refunded.');
}
