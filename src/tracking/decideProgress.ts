import { isDeepStrictEqual } from 'node:util';
import type { InvoiceEnd } from '../followUps/followUps.ts';
import { nextCheckAt } from '../invoice/checkSchedule.ts';
import { type Invoice, known } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import { atRisk, goneBack } from '../invoice/reversals.ts';
import { decideDecline, type SettlementPolicy } from '../paying/decideSettlement.ts';
import { isReversedInFull, withProviderReversals } from '../paying/mergeReversals.ts';
import type { ProviderPayment } from '../paying/paymentProvider.ts';
import { newReversals, reversalChanges } from './reversalChanges.ts';

/** What the provider's view of a payment means for its invoice. */
export type ProgressDecision =
  | {
      kind: 'change';
      /** Its timeline entry still lacks `at` and `by`. */
      change: Omit<InvoiceChange, 'entry'>;
      entry: { what: string } & Record<string, string | number>;
      ends: InvoiceEnd[];
    }
  /** Nothing is new. */
  | { kind: 'nothing' }
  /** The invoice is not settled yet: what has to be recorded comes when it is. */
  | { kind: 'notYet' }
  /** The invoice waits for its next try, is parked or ended without this payment: its own look-up decides. */
  | { kind: 'lookUp' };

/** The timeline's word for a payment of an invoice that has one already. */
export const secondPayment = 'second payment';

/**
 * Decides what a payment that was retrieved at `now` (milliseconds) means for the invoice as it is stored. The same payment
 * seen again changes nothing, so events may come twice, late and in any order. Pure.
 *
 * - Of an invoice that is processing, only the payment that it waits for moves it on.
 * - On a paid invoice, refunds and disputes of its payment are recorded.
 * - A second payment changes nothing, but is noted.
 */
export function decideProgress(
  invoice: Invoice,
  { paymentId, progress, reversals: seen }: ProviderPayment,
  policy: Pick<SettlementPolicy, 'softDeclineRetryMs'>,
  now: number,
): ProgressDecision {
  const { status, payment } = invoice;
  const at = new Date(now).toISOString();
  const after = withProviderReversals(invoice.reversals, seen);
  const hasReversals = seen.refunds.length + seen.disputes.length > 0;
  const isReversed = goneBack(seen.refunds).length + atRisk(seen.disputes).length > 0;
  switch (status) {
    case 'processing':
      return payment.inProgress?.id === paymentId ? ofOneInProgress() : ofAnother();
    case 'paid':
      return payment.id === paymentId ? ofOnePaid() : ofAnother();
    case 'claimed':
      return hasReversals ? { kind: 'notYet' } : { kind: 'nothing' };
    case 'pending':
      // Its next try would find out under the same key. Under a later one it would pay a second time.
      return hasReversals ? { kind: 'notYet' } : unlessEnded();
    case 'parked':
    case 'declined':
    case 'voided':
      return unlessEnded();
  }

  /** A payment that has moved money, or may, and that the invoice knows nothing of. */
  function unlessEnded(): ProgressDecision {
    return progress.kind === 'succeeded' || progress.kind === 'alive'
      ? { kind: 'lookUp' }
      : { kind: 'nothing' };
  }

  /**
   * The invoice has another payment. Nothing here makes a second one, but a person in the provider's dashboard can: the
   * timeline says so once, and an alert.
   */
  function ofAnother(): ProgressDecision {
    const isKnown = invoice.timeline.some(
      (entry) => entry.what === secondPayment && entry.paymentId === paymentId,
    );
    const moves = progress.kind === 'succeeded' || progress.kind === 'alive';
    if (isKnown || !moves || isReversedInFull(seen, invoice.amountMinor)) return { kind: 'nothing' };
    return {
      kind: 'change',
      change: {},
      entry: { what: secondPayment, paymentId, state: progress.kind },
      ends: [],
    };
  }

  function ofOneInProgress(): ProgressDecision {
    switch (progress.kind) {
      case 'succeeded': {
        const set = { status: 'paid', payment: { ...known(payment), id: paymentId, paidAt: at } } as const;
        const withReversals = after === undefined ? set : { ...set, reversals: after };
        return {
          kind: 'change',
          change: { set: withReversals, clear: ['checkAt', 'reason'] },
          entry: { what: 'paid', paymentId },
          // Money that has gone back already needs no receipt: the reversal says what there is to say.
          ends: [
            ...(isReversed ? [] : [{ kind: 'paid' as const, paymentId, paidAt: at }]),
            ...reversalEnds(),
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
    const decided = decideDecline(known(payment), decline, policy, now);
    const { reason } = decided;
    if (decided.kind === 'retry') {
      const { payment: next, attempts, at: actionableAt } = decided;
      return {
        kind: 'change',
        change: { set: { status: 'pending', payment: next, attempts, actionableAt }, clear: ['checkAt'] },
        entry: { what: 'retry: declined', paymentId, reason, nextAt: actionableAt },
        ends: [],
      };
    }
    return {
      kind: 'change',
      change: {
        set: { status: 'declined', reason, declinedAt: at, payment: known(payment) },
        clear: ['checkAt'],
      },
      entry: { what: 'declined', paymentId, reason },
      ends: [{ kind: 'declined', reason }],
    };
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
      ends: [],
    };
  }

  function ofOnePaid(): ProgressDecision {
    if (after === undefined || isDeepStrictEqual(after, invoice.reversals)) return { kind: 'nothing' };
    const { refundedMinor, disputedMinor } = after;
    const changes = reversalChanges(invoice.reversals, after);
    return {
      kind: 'change',
      change: { set: { reversals: after } },
      entry: { what: 'reversed', paymentId, changes, refundedMinor, disputedMinor },
      ends: reversalEnds(),
    };
  }

  /** What somebody has to hear of: refunds that are done, disputes that were opened or lost. */
  function reversalEnds(): InvoiceEnd[] {
    return after === undefined ? [] : newReversals(invoice.reversals, after, paymentId);
  }
}
