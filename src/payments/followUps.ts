import type { WorkItem } from '../workItems/workItem.ts';
import type { Settled } from './decideSettlement.ts';

/** The work items that follow from one settlement made at `now` (milliseconds). Pure. */
export function followUps({ command, settlement }: Settled, now: number): WorkItem[] {
  if (settlement.kind !== 'paid') return [];
  const { invoiceId, customerId, amountMinor, currency, description } = command;
  return [
    {
      resourceId: invoiceId,
      stage: 'receipt',
      input: {
        customerId,
        amountMinor,
        currency,
        paymentId: settlement.paymentId,
        paidAt: new Date(now).toISOString(),
        ...(description === undefined ? {} : { description }),
      },
    },
  ];
}
