/**
 * Whose payment it is that was found at the provider, and what that means for an invoice. Several deployments, shops and people
 * may make payments in one account, and an id such as 2026-0001 is not ours alone.
 *
 *   made by            customer   amount, currency    it is
 *   this deployment,   same       same                ours: it is recorded
 *   or nobody says     same       other               unclear: a person decides
 *                      other      any                 foreign: as if it did not exist
 *   this deployment    erased     as above            as above
 *   another one        any        any                 foreign
 *
 * docs/exactly-once.md has the table with the states of an invoice.
 */
import { erasedCustomer } from '../invoice/tombstone.ts';
import { isReversedInFull } from './mergeReversals.ts';
import type { FoundPayment, ProviderPayment, SoughtPayment } from './paymentProvider.ts';

export type Ownership = 'ours' | 'unclear' | 'foreign';

/** Decides whose payment it is. Pure. */
export function ownershipOf(
  payment: Pick<ProviderPayment, 'madeBy' | 'customerId' | 'amountMinor' | 'currency'>,
  invoice: Pick<SoughtPayment, 'customerId' | 'amountMinor' | 'currency'>,
): Ownership {
  if (payment.madeBy === 'others') return 'foreign';
  // Of an erased customer nobody knows the id: only what we made ourselves is ours then.
  const isErased = invoice.customerId === erasedCustomer && payment.madeBy === 'us';
  if (payment.customerId !== invoice.customerId && !isErased) return 'foreign';
  const isSame = payment.amountMinor === invoice.amountMinor && payment.currency === invoice.currency;
  return isSame ? 'ours' : 'unclear';
}

/** True for a payment that has moved money, or may: one that failed or was canceled is none. */
export function movesMoney({ progress }: Pick<ProviderPayment, 'progress'>): boolean {
  return progress.kind === 'succeeded' || progress.kind === 'alive';
}

/**
 * The payment of an invoice among those that name it: one that has succeeded before one that is alive, and one whose money has
 * gone back in full only if there is no other. Pure.
 */
export function foundAmong(payments: readonly ProviderPayment[], sought: SoughtPayment): FoundPayment {
  const byOwner = Map.groupBy(payments.filter(movesMoney), (payment) => ownershipOf(payment, sought));
  const views = (byOwner.get('ours') ?? []).map((payment) => viewOf(payment, sought.amountMinor));
  const unclear = byOwner.get('unclear') ?? [];
  for (const kind of ['found', 'processing'] as const) {
    const view = views.find((one) => one.kind === kind);
    if (view !== undefined) return view;
  }
  const [other] = unclear;
  if (other !== undefined)
    return { kind: 'differs', paymentId: other.paymentId, message: unclearReason(other, sought) };
  const [reversed] = views;
  if (reversed !== undefined) return reversed;
  const foreign = (byOwner.get('foreign') ?? []).map(({ paymentId }) => paymentId);
  return foreign.length === 0 ? { kind: 'notFound' } : { kind: 'notFound', foreign };
}

/** A payment of ours that moves money, as a look-up shows it. Pure. */
export function viewOf(
  { paymentId, progress, reversals }: ProviderPayment,
  amountMinor: number,
): Extract<FoundPayment, { kind: 'found' | 'processing' | 'reversed' }> {
  if (progress.kind === 'alive') return { kind: 'processing', paymentId, state: progress.state };
  if (reversals.refunds.length + reversals.disputes.length === 0) return { kind: 'found', paymentId };
  if (!isReversedInFull(reversals, amountMinor)) return { kind: 'found', paymentId, reversals };
  return {
    kind: 'reversed',
    paymentId,
    message: `payment ${paymentId} was charged and has gone back in full`,
  };
}

/** The reason for which a person has to decide, with the calls that end it. */
export function unclearReason(
  { paymentId, amountMinor, currency }: Pick<ProviderPayment, 'paymentId' | 'amountMinor' | 'currency'>,
  sought: Pick<SoughtPayment, 'amountMinor' | 'currency'>,
): string {
  return (
    `payment ${paymentId} names this invoice with ${amountMinor} ${currency}, not ${sought.amountMinor} ` +
    `${sought.currency} (minor units): void the invoice if that settles it, or retry it with notCharged to charge it`
  );
}
