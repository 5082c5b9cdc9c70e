import { erasedCustomer } from '../invoice/erasure.ts';
/**
 * The owner of a payment that was found at the provider, and what that means for an invoice. Several deployments, shops and
 * people may make payments in one account, and an id such as 2026-0001 is not ours alone.
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
import type { InvoiceEnd } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import { otherPayments } from '../invoice/namedPayments.ts';
import { nextCheckAt } from '../invoice/nextCheck.ts';
import { known } from '../invoice/paymentState.ts';
import { withReversals } from '../invoice/reversals.ts';
import { maxKeyAgeMs } from './idempotencyKey.ts';
import {
  isReversedInFull,
  newReversals,
  noReversals,
  withOwnPayment,
  withProviderReversals,
} from './mergeReversals.ts';
import type { FoundPayment, ProviderPayment, ProviderReversals, SoughtPayment } from './paymentProvider.ts';

type Ownership = 'ours' | 'unclear' | 'foreign';

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
  const views = (byOwner.get('ours') ?? []).map((payment) => asLookUp(payment, sought.amountMinor));
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

/** Builds the criteria that a payment must match to be the payment of this invoice. */
export function soughtOf({
  invoiceId,
  amountMinor,
  currency,
  customerId,
  payment,
}: Omit<SoughtPayment, 'since' | 'until'> & { payment: { keyCreatedAt?: string } }): SoughtPayment {
  const since = payment.keyCreatedAt;
  const sought = { invoiceId, amountMinor, currency, customerId };
  return since === undefined ? sought : { ...sought, since, until: lastCallOf(since) };
}

/** The time after which a key that was first claimed at `createdAt` is never sent. ISO 8601, both. */
function lastCallOf(createdAt: string): string {
  return new Date(Date.parse(createdAt) + maxKeyAgeMs).toISOString();
}

/** A payment of ours that moves money, as a look-up shows it. Pure. */
export function asLookUp(
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

/** A payment that turned up at the provider: nobody had recorded it. */
export type PaymentFound =
  /** The invoice was charged. `paidAt` is ISO 8601, by default now; `reversals`: some of the money has gone back since, or may. */
  | { kind: 'found'; paymentId: string; paidAt?: string; reversals?: ProviderReversals }
  /** It is alive, and is followed from now on. */
  | { kind: 'processing'; paymentId: string; state: string };

/** The change that records a payment of an unpaid invoice at `now` (milliseconds), and the ends to announce. Pure. */
export function changeByPayment(
  invoice: Invoice,
  payment: PaymentFound,
  now: number,
): {
  change: Omit<InvoiceChange, 'entry'>;
  entry: { what: string } & Record<string, string>;
  ends: InvoiceEnd[];
  /** Other payments that the invoice names: they are looked into, now that it is paid by this one. */
  others: string[];
} {
  const { paymentId } = payment;
  if (payment.kind === 'processing') {
    const { state } = payment;
    const inProgress = { id: paymentId, state, since: new Date(now).toISOString(), checks: 0 };
    return {
      change: {
        set: {
          status: 'processing',
          checkAt: nextCheckAt(0, now),
          payment: { ...known(invoice.payment), inProgress },
        },
        clear: ['claim', 'actionableAt', 'reason', 'declinedAt'],
      },
      entry: { what: 'processing', paymentId, state },
      ends: [],
      others: [],
    };
  }
  const { paidAt = new Date(now).toISOString(), reversals: seen = noReversals } = payment;
  const before = withOwnPayment(invoice.reversals, paymentId);
  const reversals = withProviderReversals(before, seen);
  const gone = reversals && withReversals(reversals, now);
  return {
    change: {
      set: { status: 'paid', payment: { ...known(invoice.payment), id: paymentId, paidAt }, ...gone?.set },
      // It is no second payment any more.
      clear: [
        'claim',
        'actionableAt',
        'reason',
        'declinedAt',
        ...(gone?.clear ?? (['checkAt', 'reversals'] as const)),
      ],
    },
    entry: { what: 'paid', paymentId },
    ends: [
      { kind: 'paid', paymentId, paidAt },
      ...(reversals === undefined ? [] : newReversals(before, reversals, paymentId)),
    ],
    others: otherPayments(invoice, paymentId),
  };
}
