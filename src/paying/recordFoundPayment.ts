import type { FollowUps } from '../followUps/followUps.ts';
import { type Invoice, known } from '../invoice/invoice.ts';
import type { InvoiceStore, Updated } from '../invoice/store/invoiceStore.ts';

/** A payment that turned up at the provider: the invoice was charged, and nobody had recorded it. */
export interface PaymentFound {
  paymentId: string;
  /** ISO 8601. */
  paidAt: string;
  /** For the timeline: how it was found. */
  found: string;
  /** Names the follow-ups. */
  occasion: string;
}

/**
 * Records a payment that was found and orders its receipt. It does what a settlement does, but for an invoice in any
 * status. `mayRecord` is asked about the invoice as it is stored.
 *
 * @throws {NoClearAnswer}
 */
export function recordFoundPayment(
  invoices: Pick<InvoiceStore, 'update'>,
  id: string,
  { paymentId, paidAt, found, occasion }: PaymentFound,
  {
    now,
    by,
    followUps,
    mayRecord,
    assertHeld = () => {},
  }: {
    /** Milliseconds. */
    now: number;
    by: string;
    followUps: FollowUps;
    mayRecord: (invoice: Invoice) => boolean;
    assertHeld?: () => void;
  },
): Promise<Updated<'decided'>> {
  const at = new Date(now).toISOString();
  return invoices.update<'decided'>(id, {
    decide(invoice) {
      if (!mayRecord(invoice)) return { kind: 'refuse', why: 'decided' };
      const ended = { ...invoice, invoiceId: id, keyNumber: invoice.payment.keyNumber };
      const end = { kind: 'paid' as const, paymentId, paidAt };
      const messages = followUps([{ invoice: ended, end }], { shard: invoice.shard, occasion, now });
      return {
        kind: 'change',
        change: {
          set: { status: 'paid', payment: { ...known(invoice.payment), id: paymentId, paidAt } },
          clear: ['claim', 'actionableAt', 'reason'],
          entry: { at, what: 'paid', by, paymentId, found },
        },
        messages,
      };
    },
    isApplied: ({ status, payment }) => status === 'paid' && payment.id === paymentId,
    beforeTry: assertHeld,
  });
}
