import { stepsOf } from '../../../src/invoice/timeline.ts';
import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { reversalTexts } from './reversalText.ts';

/** One sentence that says how an invoice stands, and what to do if it is not paid. `now` is in milliseconds. Pure. */
export function invoiceStory(invoice: InvoiceDetailAnswer, now: number, isPaused = false): string {
  const { status, reason, payment, actionableAt, dueAt, timeline } = invoice;
  const why = reason ?? stepsOf(timeline).at(-1)?.reason;
  const because = typeof why === 'string' && why !== '' ? `: ${why.replace(/\.$/, '')}` : '';
  switch (status) {
    case 'paid':
      return ['It is paid.', ...reversalTexts(invoice)].join(' ');
    case 'voided':
      return `It was voided and is never charged${because}.`;
    case 'declined':
      return `The bank declined it for good${because}. Retry it, with another payment method if the customer gives you one, or void it.`;
    case 'parked':
      return payment.unknownSince === undefined
        ? `It waits for you${because}. Put right what is wrong, then retry or void it.`
        : `It may have been charged${because}. Retry it: a charge that went through is found, not repeated.`;
    case 'processing':
      return 'Its payment is in progress at the provider. A bank debit takes days; there is nothing to do.';
    case 'claimed':
      return 'It is being paid right now.';
    case 'pending':
      if (Date.parse(dueAt) > now) return 'It is not due yet.';
      if (actionableAt !== null && Date.parse(actionableAt) > now)
        return `The last try came to nothing${because}. It is tried again by itself.`;
      return isPaused
        ? 'It is due. Payments are paused: it is charged once they go on.'
        : 'It is due; the next run charges it.';
  }
}
