import type { Invoice } from './invoice.ts';
import { decisions } from './timeline.ts';

/** The payments that an invoice names, in its state and its timeline: any of them may hold money. */

/** Payments that are retrieved by id, at most: the latest that the timeline names. */
const mostIds = 10;

/** The provider's ids of payments that the invoice names, latest first. Pure. */
export function paymentIdsOf({ payment, timeline }: Pick<Invoice, 'payment' | 'timeline'>): string[] {
  const named = timeline.map(({ paymentId }) => paymentId).filter((id) => typeof id === 'string');
  const current = payment.inProgress === undefined ? [] : [payment.inProgress.id];
  return [...new Set([...current, ...named.toReversed()])].slice(0, mostIds);
}

/** Name of the timeline's entry for a decline after which the next key is charged later. */
export const softDeclined = 'retry: declined';

/** Entries that tell of a payment's end without money. A shop's customer may confirm it once more: a later entry counts. */
const ends = ['declined', softDeclined];

/**
 * Payments that an unpaid invoice names and that may hold money: all but those whose last entry says otherwise, which `none`
 * lists. Charging the invoice again would be a second payment. Pure.
 */
export function unrecordedPayments(
  invoice: Pick<Invoice, 'payment' | 'timeline'>,
  none: readonly unknown[] = ends,
): string[] {
  const lastWords = new Map(invoice.timeline.map(({ paymentId, what }) => [paymentId, what]));
  return paymentIdsOf(invoice).filter((id) => !none.includes(lastWords.get(id)));
}

/** True if a person's last decision about an invoice was to void it: then no payment that turns up makes it paid. Pure. */
export function wasVoided({ timeline }: Pick<Invoice, 'timeline'>): boolean {
  return timeline.findLast(({ what }) => decisions.has(what))?.what === 'voided';
}

/** The timeline's words for a payment of somebody else, and for one whose money had gone back when it was seen. */
export const foreignPayment = 'payment of somebody else';
export const lookedUp = 'looked up';

/** Payments besides this one that the invoice names and that may hold money, recorded as second payments or not. Pure. */
export function otherPayments(
  invoice: Pick<Invoice, 'payment' | 'timeline'>,
  paymentId: string | undefined,
): string[] {
  const ours = unrecordedPayments(invoice, [...ends, foreignPayment, lookedUp]);
  return ours.filter((id) => id !== paymentId);
}
