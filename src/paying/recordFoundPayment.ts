import type { FollowUps } from '../followUps/followUps.ts';
import { nextCheckAt } from '../invoice/checkSchedule.ts';
import { type Invoice, known } from '../invoice/invoice.ts';
import type { InvoiceStore, Updated } from '../invoice/store/invoiceStore.ts';

/** A payment that turned up at the provider: nobody had recorded it. */
export type PaymentFound =
  /** The invoice was charged. `paidAt` is ISO 8601. */
  | { kind: 'found'; paymentId: string; paidAt: string }
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
  const { paymentId } = payment;
  return invoices.update<'decided'>(id, {
    decide(invoice) {
      if (!mayRecord(invoice)) return { kind: 'refuse', why: 'decided' };
      if (payment.kind === 'processing') {
        const { state } = payment;
        const inProgress = { id: paymentId, state, since: at, checks: 0 };
        return {
          kind: 'change',
          change: {
            set: {
              status: 'processing',
              checkAt: nextCheckAt(0, now),
              payment: { ...known(invoice.payment), inProgress },
            },
            clear: ['claim', 'actionableAt', 'reason'],
            entry: { at, what: 'processing', by, paymentId, state, found },
          },
        };
      }
      const { paidAt } = payment;
      const ended = { ...invoice, invoiceId: id, keyNumber: invoice.payment.keyNumber };
      const end = { kind: 'paid' as const, paymentId, paidAt };
      return {
        kind: 'change',
        change: {
          set: { status: 'paid', payment: { ...known(invoice.payment), id: paymentId, paidAt } },
          clear: ['claim', 'actionableAt', 'checkAt', 'reason', 'declinedAt'],
          entry: { at, what: 'paid', by, paymentId, found },
        },
        messages: followUps([{ invoice: ended, end }], { shard: invoice.shard, occasion, now }),
      };
    },
    beforeTry: assertHeld,
  });
}
