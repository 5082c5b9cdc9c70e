import type { Container, OperationInput } from '@azure/cosmos';
import { z } from 'zod';
import { type Invoice, known } from '../invoices/invoice.ts';
import { readInvoice } from '../invoices/readInvoices.ts';
import { reconcileStageName } from '../invoices/reconcileItem.ts';
import { appendToTimeline } from '../invoices/timeline.ts';
import { newOutboxMessage } from '../outbox/outboxMessage.ts';
import type { Clock } from '../platform/clock.ts';
import { transact } from '../platform/transact.ts';
import { defineStage, type Stage } from '../workItems/defineStage.ts';
import { notifyItem } from '../workItems/notifyItem.ts';
import { NotNow } from '../workItems/notNow.ts';
import { receiptItem } from './followUps.ts';
import type { FoundPayment, PaymentProvider } from './provider.ts';

/** The provider could not say, or the store gave no clear answer: the work item is tried again later. */
export class NotReconciled extends NotNow {
  override readonly name = 'NotReconciled';
}

/** The provider knows no payment that settles the invoice. */
type NoneFound = Extract<FoundPayment, { kind: 'notFound' | 'differs' }>;

/** Whether there is still something to find out: a person may have decided meanwhile. */
export function isUnclear(invoice: Invoice | undefined, keyNumber: number): invoice is Invoice {
  return invoice?.status === 'parked' && invoice.payment.keyNumber === keyNumber;
}

/**
 * The stage that looks a parked invoice up at the provider. Found: it was charged, so it is paid, and its receipt is
 * ordered. Not found, or with another amount: it stays parked, and its timeline says so; to try again is then for a
 * person to decide. Nothing is ever charged here.
 */
export function reconcileStage({
  container,
  provider,
  clock,
  by,
  notifies,
}: {
  container: Container;
  provider: Pick<PaymentProvider, 'find'>;
  clock: Clock;
  by: string;
  /** Whether somebody wants to hear of what turns out to be paid. */
  notifies: boolean;
}): Stage {
  return defineStage({
    name: reconcileStageName,
    input: z.strictObject({ shard: z.string(), keyNumber: z.int().min(1) }),
    async handle({ shard, keyNumber }, context) {
      const { resourceId: id } = context;
      const invoice = await readInvoice(container, shard, id);
      if (!isUnclear(invoice, keyNumber)) return { result: 'decided meanwhile' };
      const found = await provider.find({ ...invoice, invoiceId: id });
      if (found.kind === 'unknown') throw new NotReconciled(`the provider cannot say: ${found.message}`);
      const at = new Date(clock.now()).toISOString();
      const operations =
        found.kind === 'found' ? paid(invoice, found.paymentId, at) : stays(invoice, found, at);
      context.assertHeld();
      const answer = await transact(container, shard, operations);
      // Whatever was written: the next delivery reads the invoice anew.
      if (answer.kind !== 'committed') throw new NotReconciled(`the store gave no clear answer for ${id}`);
      return found.kind === 'found'
        ? { result: 'paid', paymentId: found.paymentId }
        : { result: found.kind === 'differs' ? 'differs' : 'not found' };
    },
  });

  function paid(invoice: Invoice, paymentId: string, at: string): OperationInput[] {
    const { id, shard, payment } = invoice;
    const occasion = `reconciled-${paymentId}`;
    const body = [receiptItem({ ...invoice, invoiceId: id }, { paymentId, paidAt: at })];
    if (notifies) {
      body.push(notifyItem({ ...invoice, invoiceId: id }, { kind: 'paid', paymentId }, { at, occasion }));
    }
    const content = { id: occasion, shard, destination: 'work-items' as const, body };
    const message = newOutboxMessage(content, clock.now());
    return [
      {
        operationType: 'Patch',
        id,
        ifMatch: invoice._etag,
        resourceBody: {
          operations: [
            { op: 'set', path: '/status', value: 'paid' },
            { op: 'set', path: '/payment', value: { ...known(payment), id: paymentId, paidAt: at } },
            ...(invoice.reason === undefined ? [] : [{ op: 'remove' as const, path: '/reason' }]),
            appendToTimeline(invoice, { at, what: 'paid', by, paymentId, found: 'by reconciliation' }),
          ],
        },
      },
      { operationType: 'Create', resourceBody: { ...message } },
    ];
  }

  function stays(invoice: Invoice, found: NoneFound, at: string): OperationInput[] {
    const reason = found.kind === 'differs' ? found.message : 'the provider finds no payment';
    const entry = { at, what: 'looked up', by, reason };
    return [
      {
        operationType: 'Patch',
        id: invoice.id,
        ifMatch: invoice._etag,
        resourceBody: { operations: [appendToTimeline(invoice, entry)] },
      },
    ];
  }
}
