import type { Invoice } from './invoice.ts';

/** Payments that are retrieved by id, at most: the latest that the timeline names. */
const mostIds = 10;

/** The provider's ids of payments that the invoice names, latest first. Pure. */
export function paymentIdsOf({ payment, timeline }: Pick<Invoice, 'payment' | 'timeline'>): string[] {
  const named = timeline.map(({ paymentId }) => paymentId).filter((id) => typeof id === 'string');
  const current = payment.inProgress === undefined ? [] : [payment.inProgress.id];
  return [...new Set([...current, ...named.toReversed()])].slice(0, mostIds);
}

/** Entries that tell of a payment's end without money. */
const ends: ReadonlySet<string> = new Set(['declined', 'retry: declined']);

/**
 * Payments that an unpaid invoice names and that may hold money: nobody has recorded that they ended without. Charging the
 * invoice again would then be a second payment. Pure.
 */
export function unrecordedPayments(invoice: Pick<Invoice, 'payment' | 'timeline'>): string[] {
  const ended = new Set(
    invoice.timeline.filter(({ what }) => ends.has(what)).map(({ paymentId }) => paymentId),
  );
  return paymentIdsOf(invoice).filter((id) => !ended.has(id));
}

/** The timeline's words for a payment of somebody else, and for one whose money had gone back when it was seen. */
export const foreignPayment = 'payment of somebody else';
export const lookedUp = 'looked up';

/** Payments besides this one that the invoice names and that may hold money, recorded as second payments or not. Pure. */
export function otherPayments(
  invoice: Pick<Invoice, 'payment' | 'timeline'>,
  paymentId: string | undefined,
): string[] {
  const none = invoice.timeline.filter(({ what }) => what === foreignPayment || what === lookedUp);
  return unrecordedPayments(invoice).filter(
    (id) => id !== paymentId && !none.some((entry) => entry.paymentId === id),
  );
}
