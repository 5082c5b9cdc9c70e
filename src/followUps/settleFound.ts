import type { OperationInput } from '@azure/cosmos';
import { type Invoice, known } from '../invoice/invoice.ts';
import { appendToTimeline } from '../invoice/timeline.ts';
import { newOutboxMessage } from '../outbox/outboxMessage.ts';
import { receiptItem } from './followUpItems.ts';
import { notifyItem } from './notifyItem.ts';

/** A payment that turned up at the provider: the invoice was charged, and nobody had written it down. */
export interface PaymentFound {
  paymentId: string;
  /** ISO 8601. */
  paidAt: string;
  /** For the timeline: how it was found. */
  found: string;
  /** Names what follows from it. */
  occasion: string;
}

/**
 * The transaction that writes a payment down which was found, with the order for its receipt: what a settlement does, but
 * for an invoice as it was read, whatever its status. Pure.
 */
export function settleFound(
  invoice: Invoice,
  { paymentId, paidAt, found, occasion }: PaymentFound,
  {
    now,
    by,
    notifies,
  }: {
    /** Milliseconds. */
    now: number;
    by: string;
    /** Whether somebody wants to hear of it. */
    notifies: boolean;
  },
): OperationInput[] {
  const { id, shard, payment } = invoice;
  const at = new Date(now).toISOString();
  const charged = { ...invoice, invoiceId: id };
  const body = [receiptItem(charged, { paymentId, paidAt })];
  if (notifies) body.push(notifyItem(charged, { kind: 'paid', paymentId }, { at, occasion }));
  const message = newOutboxMessage({ id: occasion, shard, destination: 'work-items', body }, now);
  const gone = (['claim', 'actionableAt', 'reason'] as const).filter((name) => invoice[name] !== undefined);
  return [
    {
      operationType: 'Patch',
      id,
      ifMatch: invoice._etag,
      resourceBody: {
        operations: [
          { op: 'set', path: '/status', value: 'paid' },
          { op: 'set', path: '/payment', value: { ...known(payment), id: paymentId, paidAt } },
          ...gone.map((name) => ({ op: 'remove' as const, path: `/${name}` })),
          appendToTimeline(invoice, { at, what: 'paid', by, paymentId, found }),
        ],
      },
    },
    { operationType: 'Create', resourceBody: { ...message } },
  ];
}
