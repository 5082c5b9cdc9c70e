import { maxOperations } from '../documents/documentStore.ts';
import { figureRoom } from '../invoice/figures/counters.ts';
import type { Invoice } from '../invoice/invoice.ts';

/** Why an invoice stays in the database. */
export type Kept =
  /** Something is still to be done with it, or may be. */
  | 'open'
  /** Its last change is too recent. */
  | 'recent'
  /** A refund is not decided. */
  | 'refundPending'
  /** The bank has not decided a dispute. */
  | 'disputeOpen'
  /** It has refunds or disputes on more days than one transaction could count. */
  | 'tooManyDays';

/**
 * Why an invoice stays; undefined if it is settled and its last change was before `before` (ISO 8601, UTC). Pure.
 *
 * Only what is paid, declined or voided is settled: all else waits for a run, the provider or a person.
 */
export function whyKept(invoice: Invoice, before: string): Kept | undefined {
  if (!isSettled(invoice)) return 'open';
  if (lastChange(invoice) >= before) return 'recent';
  const { refunds = [], disputes = [] } = invoice.reversals ?? {};
  if (refunds.some(({ status }) => status === 'requested' || status === 'pending')) return 'refundPending';
  if (disputes.some(({ status }) => status === 'open')) return 'disputeOpen';
  return 1 + figureRoom(2).with(invoice) <= maxOperations ? undefined : 'tooManyDays';
}

function isSettled({ status, claim, actionableAt, checkAt, payment }: Invoice): boolean {
  const waits = claim !== undefined || actionableAt !== undefined || checkAt !== undefined;
  if (waits || payment.unknownSince !== undefined || payment.inProgress !== undefined) return false;
  switch (status) {
    case 'paid':
    case 'declined':
    case 'voided':
      return true;
    case 'pending':
    case 'claimed':
    case 'processing':
    case 'parked':
      return false;
  }
}

/** When an invoice was last changed: ISO 8601. Each change adds to the timeline. Pure. */
export function lastChange({ createdAt, timeline }: Pick<Invoice, 'createdAt' | 'timeline'>): string {
  const times = [createdAt, ...timeline.map(({ at }) => at)];
  return times.toSorted().at(-1) ?? createdAt;
}
