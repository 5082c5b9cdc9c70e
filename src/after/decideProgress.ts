import { isDeepStrictEqual } from 'node:util';
import { advised } from '../invoice/advice.ts';
import type { Invoice } from '../invoice/invoice.ts';
import {
  foreignPayment,
  lookedUp,
  otherPayments,
  softDeclined,
  wasVoided,
} from '../invoice/namedPayments.ts';
import { nextCheckAt } from '../invoice/nextCheck.ts';
import { known, nextKey } from '../invoice/paymentState.ts';
import { reversalsOf, withReversals } from '../invoice/reversals.ts';
import { asLookUp, changeByPayment, movesMoney, ownershipOf, unclearReason } from '../paying/foundPayment.ts';
import {
  isReversedInFull,
  mayBeLost,
  newReversals,
  reversalChanges,
  withLookAlikes,
  withProviderReversals,
} from '../paying/mergeReversals.ts';
import type { SettlementPolicy } from '../paying/payingPolicy.ts';
import type { ProviderPayment } from '../paying/paymentProvider.ts';
import { decideDecline } from '../paying/settlement.ts';
import { goneBackNote } from './checkProvider.ts';
import type { Recorded } from './record.ts';

export type ProgressDecision =
  | Recorded
  | { kind: 'nothing' }
  /** The invoice is not settled yet: what has to be recorded comes when it is. */
  | { kind: 'unsettled' };

/**
 * Cleared once the awaited payment has moved no money: reversals of an unpaid invoice's second payment would grow stale. Should its
 * money come back, an event names it.
 */
const endedClears = ['checkAt', 'reversals'] as const;

/** The timeline's words for a payment of an invoice that has one already. */
export const secondPayment = 'second payment';

/**
 * Decides what a payment that was retrieved at `now` (milliseconds) means for the invoice as it is stored. The same payment
 * seen again changes nothing, so events may come twice, late and in any order. Pure.
 *
 * - Of an invoice that is processing, only the payment that it waits for moves it on.
 * - On a paid invoice, refunds and disputes of its payment are recorded, and refunds whose orders may be lost are ordered again.
 * - A second payment is recorded with its refunds and disputes. One of somebody else is noted (paying/foundPayment.ts).
 * - An unpaid invoice is paid by a payment of ours. Another amount parks it, and so does any payment of a voided invoice.
 */
export function decideProgress(
  invoice: Invoice,
  found: ProviderPayment,
  policy: Pick<SettlementPolicy, 'softDeclineRetryMs'>,
  now: number,
): ProgressDecision {
  const { paymentId, progress, reversals: seen } = found;
  const { status, payment } = invoice;
  const at = new Date(now).toISOString();
  if (ownershipOf(found, invoice) === 'foreign')
    return movesMoney(found) ? noted(foreignPayment) : { kind: 'nothing' };
  switch (status) {
    case 'processing':
      return payment.inProgress?.id === paymentId ? ofOneInProgress() : ofAnother();
    case 'paid':
      return payment.id === paymentId ? ofOnePaid() : ofAnother();
    case 'claimed':
      return movesMoney(found) ? { kind: 'unsettled' } : { kind: 'nothing' };
    case 'pending':
    case 'parked':
    case 'declined':
    case 'voided':
      return movesMoney(found) ? ofUnpaid() : { kind: 'nothing' };
  }

  /** A payment that the invoice knows nothing of. */
  function ofUnpaid(): ProgressDecision {
    if (ownershipOf(found, invoice) === 'unclear') return parked(unclearReason(found, invoice));
    const view = asLookUp(found, invoice.amountMinor);
    if (view.kind === 'reversed') return noted(lookedUp, view.message);
    if (wasVoided(invoice)) {
      return parked(
        view.kind === 'found'
          ? `it was voided, but payment ${paymentId} has succeeded: retry the invoice to record it, after which it can be refunded`
          : `it was voided, but payment ${paymentId} is in progress: void it again, which cancels the payment if that is possible`,
      );
    }
    return { kind: 'change', ...changeByPayment(invoice, view, now) };
  }

  /** For a person. Said once, since they may have decided; and once more if they did so because the money had gone back. */
  function parked(reason: string): ProgressDecision {
    if (isNamed('parked') && !hasComeBack()) return { kind: 'nothing' };
    return parkedFor(paymentId, reason, { clear: ['actionableAt', 'declinedAt'] });
  }

  function parkedFor(payment: string, reason: string, change: Recorded['change']): Recorded {
    return {
      kind: 'change',
      change: { ...change, set: { ...change.set, status: 'parked', reason } },
      entry: { what: 'parked', reason, paymentId: payment },
      ends: [{ kind: 'parked', reason, unknown: false }],
    };
  }

  /** The timeline says it once, whatever comes of it. */
  function noted(what: string, reason?: string): ProgressDecision {
    if (isNamed(what)) return { kind: 'nothing' };
    const why = reason === undefined ? { state: progress.kind } : { reason };
    return { kind: 'change', change: {}, entry: { what, paymentId, ...why } };
  }

  function isNamed(what: string): boolean {
    return invoice.timeline.some((entry) => entry.what === what && entry.paymentId === paymentId);
  }

  /** A refund may fail after a person has voided the invoice because of it. */
  function hasComeBack(): boolean {
    const decided = invoice.timeline.findLastIndex(({ what }) => what === 'voided');
    const [last, ...since] = decided < 0 ? [] : invoice.timeline.slice(decided);
    return (
      last?.check === goneBackNote(paymentId) &&
      !since.some((entry) => entry.what === 'parked' && entry.paymentId === paymentId)
    );
  }

  /** The invoice has another payment: a person has made a second one in the provider's dashboard. */
  function ofAnother(): ProgressDecision {
    const { reversals: before } = invoice;
    const isKnown = before?.payments?.some(({ id }) => id === paymentId) === true;
    if (!movesMoney(found) || (!isKnown && isReversedInFull(seen, found.amountMinor)))
      return { kind: 'nothing' };
    if (progress.kind !== 'succeeded') return noted(secondPayment);
    const { amountMinor, currency } = found;
    const other = currency === invoice.currency ? {} : { currency };
    const after = withProviderReversals(before, seen, { id: paymentId, amountMinor, ...other, at });
    if (after === undefined || isDeepStrictEqual(after, before)) return { kind: 'nothing' };
    return {
      kind: 'change',
      // Of one that is processing, the check is about the payment that it waits for.
      change: status === 'paid' ? withReversals(after, now) : { set: { reversals: after } },
      entry: isKnown
        ? { what: 'reversed', paymentId, changes: reversalChanges(before, after) }
        : { what: secondPayment, paymentId, state: progress.kind },
      ends: newReversals(before, after, paymentId),
    };
  }

  function ofOneInProgress(): ProgressDecision {
    switch (progress.kind) {
      case 'succeeded': {
        if (ownershipOf(found, invoice) === 'unclear')
          return parkedFor(paymentId, unclearReason(found, invoice), {
            set: { payment: known(payment) },
            clear: endedClears,
          });
        const set = { status: 'paid', payment: { ...known(payment), id: paymentId, paidAt: at } } as const;
        const after = withProviderReversals(invoice.reversals, seen);
        const gone = after && withReversals(after, now);
        return {
          kind: 'change',
          change: { set: { ...set, ...gone?.set }, clear: [...(gone?.clear ?? ['checkAt']), 'reason'] },
          entry: { what: 'paid', paymentId },
          others: otherPayments(invoice, paymentId),
          ends: [
            { kind: 'paid', paymentId, paidAt: at },
            ...(after === undefined ? [] : newReversals(invoice.reversals, after, paymentId)),
          ],
        };
      }
      case 'alive':
        return stillAlive(progress.state);
      case 'canceled':
        return ended({ severity: 'hard', code: 'canceled', message: 'the payment was canceled' });
      case 'failed':
        return ended(progress);
    }
  }

  /** The provider has said for certain that it moved no money: the next try has a key of its own. */
  function ended(decline: { severity: 'soft' | 'hard'; code: string; message: string }): ProgressDecision {
    const other = secondThatHolds();
    if (other !== undefined) return leftToAnother(other);
    const decided = decideDecline(known(payment), decline, policy, now);
    const { reason } = decided;
    const isOurs = found.madeBy === 'us';
    // It was only followed: the invoice had been voided, or our own key may have been sent, and declined.
    if (wasVoided(invoice) || (!isOurs && payment.keyCreatedAt !== undefined)) {
      const why = advised(`payment ${paymentId} has come to nothing (${reason})`, 'mayBeCharged');
      return parkedFor(paymentId, why, { set: { payment: known(payment) }, clear: endedClears });
    }
    // A shop's payment that has failed is none: our key, which was never sent, is as it was. The customer may be about to try
    // another card, so we wait as after a first decline, and for the due date.
    if (!isOurs) {
      const [wait = 0] = policy.softDeclineRetryMs;
      const again = Math.max(now + wait, Date.parse(invoice.dueAt));
      return triedAgain({ payment: known(payment), attempts: 0, at: new Date(again).toISOString() }, reason);
    }
    if (decided.kind === 'retry') return triedAgain(decided, reason);
    return {
      kind: 'change',
      change: {
        set: { status: 'declined', reason, declinedAt: at, payment: known(payment) },
        clear: endedClears,
      },
      entry: { what: 'declined', paymentId, reason },
      ends: [{ kind: 'declined', reason }],
    };
  }

  function triedAgain(
    { payment, attempts, at: actionableAt }: Pick<Invoice, 'payment' | 'attempts'> & { at: string },
    reason: string,
  ): ProgressDecision {
    return {
      kind: 'change',
      change: { set: { status: 'pending', payment, attempts, actionableAt }, clear: endedClears },
      entry: { what: softDeclined, paymentId, reason, nextAt: actionableAt },
    };
  }

  /** Another payment that was seen, of ours or one that a person has to decide on, and that may hold money. */
  function secondThatHolds(): string | undefined {
    const { payments = [], refunds = [], disputes = [] } = invoice.reversals ?? {};
    return otherPayments(invoice, paymentId).find((id) => {
      const ofIt = <Part extends { paymentId?: string }>(part: Part) => part.paymentId === id;
      const gone = { refunds: refunds.filter(ofIt), disputes: disputes.filter(ofIt) };
      const recorded = payments.find((one) => one.id === id);
      return recorded === undefined || !isReversedInFull(gone, recorded.amountMinor);
    });
  }

  /** The awaited payment has come to nothing, and there is another one: the next key might be one too many. */
  function leftToAnother(other: string): ProgressDecision {
    const reason = `payment ${paymentId} has ended, but payment ${other} names the invoice, too: retry it, which asks about that one first`;
    const next = found.madeBy === 'us' ? nextKey(payment, { declines: payment.declines }) : known(payment);
    return { ...parkedFor(other, reason, { set: { payment: next }, clear: endedClears }), others: [other] };
  }

  /** A check that finds it alive sets the next one. An event between two checks only says how it stands. */
  function stillAlive(state: string): ProgressDecision {
    const { inProgress, ...rest } = payment;
    if (inProgress === undefined) return { kind: 'nothing' };
    const isCheck = invoice.checkAt === undefined || invoice.checkAt <= at;
    if (!isCheck && inProgress.state === state) return { kind: 'nothing' };
    const checks = inProgress.checks + (isCheck ? 1 : 0);
    const set = { payment: { ...rest, inProgress: { ...inProgress, state, checks } } };
    return {
      kind: 'change',
      change: { set: isCheck ? { ...set, checkAt: nextCheckAt(checks, now) } : set },
      entry: { what: 'still in progress', paymentId, state, checks },
    };
  }

  /** A check writes when the next one is due, whatever it finds. */
  function ofOnePaid(): ProgressDecision {
    const { reversals: before, checkAt } = invoice;
    const merged = withProviderReversals(before, seen);
    if (merged === undefined) return { kind: 'nothing' };
    const isCheck = checkAt !== undefined && checkAt <= at;
    const known = withLookAlikes(merged);
    const orders = isCheck
      ? known.refunds.filter((one) => one.mayBe === undefined && mayBeLost(one, now)).map(({ id }) => id)
      : [];
    const after = reversalsOf(
      known.refunds.map((one) => (orders.includes(one.id) ? { ...one, orderedAgainAt: at } : one)),
      known.disputes,
      known,
    );
    if (!isCheck && isDeepStrictEqual(after, before)) return { kind: 'nothing' };
    const { refundedMinor, disputedMinor } = after;
    const changes = reversalChanges(before, after);
    return {
      kind: 'change',
      change: withReversals(after, now),
      entry:
        changes === ''
          ? { what: 'refunds and disputes checked', paymentId, ...orderedAgain(orders) }
          : { what: 'reversed', paymentId, changes, refundedMinor, disputedMinor, ...orderedAgain(orders) },
      ends: newReversals(before, after, paymentId),
      ...(orders.length === 0 ? {} : { orders }),
    };
  }
}

function orderedAgain(refunds: readonly string[]): { orderedAgain?: string } {
  return refunds.length === 0 ? {} : { orderedAgain: refunds.join(', ') };
}
