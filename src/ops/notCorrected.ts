import type { NotCorrected } from '../after/corrections.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';

/** The rest of the sentence that refuses a correction, by its reason. Absent: it is not refused for that. */
export interface Advice {
  refused: (status: InvoiceStatus) => string;
  recorded?: (status: 'paid' | 'processing') => string;
  mayBeCharged?: string;
}

export const ofRetry: Advice = {
  refused: (status) =>
    status === 'pending'
      ? 'pending: it will be charged at the next run, or at the first one after it falls due. Another payment method has to come with the first retry'
      : `${status}: expected one that is parked or declined, or that waits for a later try, of a customer who has not been erased`,
  recorded: (status) => (status === 'paid' ? 'there is nothing to retry' : 'wait for its outcome'),
  mayBeCharged:
    'retry it without a payment method, or find out that nothing was charged and say so with notCharged',
};

const notVoided: Readonly<Partial<Record<InvoiceStatus, string>>> = {
  claimed: ': it is being paid right now, ask again in a few minutes',
  paid: ': refund it instead',
  voided: ' already',
};

export const ofVoid: Advice = {
  refused: (status) => `${status}${notVoided[status] ?? ': wait for the outcome'}`,
  recorded: () => 'refund it instead',
};

export const ofMove: Advice = {
  refused: (status) => `${status}: expected one that is pending, only those wait for their due date`,
  mayBeCharged: 'its outcome has to be known first',
};

export const ofUndo: Advice = {
  refused: (status) =>
    status === 'voided'
      ? 'voided, and its customer has been erased: nobody knows any more whom to charge'
      : `${status}: expected one that is voided`,
  mayBeCharged: 'a claim or a payment of it is on record. Import it under another id to charge it',
};

/** Why a correction was not made, and what to do instead; `it` names the invoice. Pure. */
export function whyNotCorrected(it: string, why: NotCorrected, advice: Advice): string {
  switch (why.kind) {
    case 'notFound':
      return `${it} is no longer there`;
    case 'refused':
      return `${it} is ${advice.refused(why.status)}`;
    case 'recorded': {
      const { paymentId, status } = why;
      return `the provider has payment ${paymentId} for ${it}, which is ${status} now: ${advice.recorded?.(status)}`;
    }
    case 'mayBeCharged':
      return `${it} may have been charged: ${advice.mayBeCharged}`;
    case 'notCanceled':
      return `the provider does not cancel payment ${why.paymentId} of ${it} (${why.message}): wait for the outcome, then refund it, or void it if that has failed`;
    case 'wait':
      return `the provider has no payment for ${it} yet, but a call may still be in flight: ask again from ${why.until} on`;
    case 'unclear':
      return `${it} needs a look at the provider first: ${why.message}`;
    case 'contended':
      return `${it} is being changed by others: ask again`;
    case 'silent':
      return `the provider could not say how ${it} stands, ask again later: ${why.message}`;
  }
}
