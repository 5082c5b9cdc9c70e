import { systemId } from '../documents/systemId.ts';
import { nextCheckAt, withReversals } from '../invoice/checkSchedule.ts';
import { type FollowUps, type InvoiceEnd, looksInto } from '../invoice/followUps.ts';
import { type Invoice, known } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import { otherPayments } from '../invoice/namedPayments.ts';
import type { InvoiceStore, Updated } from '../invoice/store/invoiceStore.ts';
import { noReversals, withOwnPayment, withProviderReversals } from './mergeReversals.ts';
import type { ProviderReversals } from './paymentProvider.ts';
import { newReversals } from './reversalChanges.ts';

/** A payment that turned up at the provider: nobody had recorded it. */
export type PaymentFound =
  /** The invoice was charged. `paidAt` is ISO 8601; `reversals`: some of the money has gone back since, or may. */
  | { kind: 'found'; paymentId: string; paidAt: string; reversals?: ProviderReversals }
  /** It is alive, and is followed from now on. */
  | { kind: 'processing'; paymentId: string; state: string };

/**
 * Records a payment that was found: the invoice is paid and its receipt ordered, or it is processing. It does what a
 * settlement does, but for an invoice in any status. `mayRecord` is asked about the invoice as it is stored.
 *
 * @throws {NoClearAnswer}
 */
export function recordFoundPayment(
  invoices: Pick<InvoiceStore, 'update'>,
  id: string,
  payment: PaymentFound,
  {
    now,
    by,
    found,
    occasion,
    followUps,
    mayRecord,
    assertHeld = () => {},
  }: {
    /** Milliseconds. */
    now: number;
    by: string;
    /** For the timeline: how it was found. */
    found: string;
    /** Names the follow-ups. */
    occasion: string;
    followUps: FollowUps;
    mayRecord: (invoice: Invoice) => boolean;
    assertHeld?: () => void;
  },
): Promise<Updated<'decided'>> {
  const at = new Date(now).toISOString();
  return invoices.update<'decided'>(id, {
    decide(invoice) {
      if (!mayRecord(invoice)) return { kind: 'refuse', why: 'decided' };
      const { change, entry, ends, others } = changeByPayment(invoice, payment, now);
      const write = systemId(occasion);
      const ended = { ...invoice, invoiceId: id, keyNumber: invoice.payment.keyNumber };
      return {
        kind: 'change',
        change: { ...change, entry: { at, by, ...entry, found } },
        messages: [
          ...followUps(
            ends.map((end) => ({ invoice: ended, end })),
            { shard: invoice.shard, occasion: write, now },
          ),
          ...looksInto(invoice, others, { write, now }),
        ],
      };
    },
    beforeTry: assertHeld,
  });
}

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
  const { paidAt, reversals: seen = noReversals } = payment;
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
