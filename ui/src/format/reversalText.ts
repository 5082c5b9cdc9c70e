import type { InvoiceAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { amountText } from './amountText.ts';

type Reversed = Pick<InvoiceAnswer, 'reversals' | 'amountMinor' | 'currency'>;

/** Disputes of the invoice's own payment that the bank has not decided. Pure. */
export function openDisputes({ reversals }: Pick<Reversed, 'reversals'>) {
  return (reversals?.disputes ?? []).filter(
    ({ status, paymentId }) => status === 'open' && paymentId === undefined,
  );
}

/** `Refunded 10.00 of 20.00.`, `Disputed over 20.00 EUR (fraudulent), evidence due 3 Dec 2026.`: each a sentence. Pure. */
export function reversalTexts(invoice: Reversed): string[] {
  const { reversals, amountMinor, currency } = invoice;
  if (reversals === null) return [];
  const { refundedMinor, refunds } = reversals;
  const isOpen = refunds.some(({ status }) => status === 'requested' || status === 'pending');
  const refunded =
    refundedMinor === 0
      ? []
      : [
          `Refunded ${amountText(refundedMinor, currency)} of ${amountText(amountMinor, currency)}` +
            `${isOpen ? ', which is in flight' : ''}.`,
        ];
  const disputed = reversals.disputes.map(
    ({ status, amountMinor: minor, currency: own = currency, reason, evidenceDueAt }) => {
      const over = `over ${amountText(minor, own)} ${own} (${reason.replaceAll('_', ' ')})`;
      if (status !== 'open') return `A dispute ${over} was ${status}.`;
      const due = evidenceDueAt === undefined ? '' : `, evidence due ${dayText(evidenceDueAt)}`;
      return `Disputed ${over}${due}.`;
    },
  );
  return [...disputed, ...refunded];
}

/** `3 Dec 2026`, UTC. Pure. */
export function dayText(iso: string): string {
  return new Date(iso).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
}
