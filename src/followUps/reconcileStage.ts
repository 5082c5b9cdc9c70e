import type { Container, OperationInput } from '@azure/cosmos';
import { z } from 'zod';
import { transact } from '../documents/transact.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { readInvoice } from '../invoice/readInvoices.ts';
import { appendToTimeline } from '../invoice/timeline.ts';
import type { FoundPayment, PaymentProvider } from '../paying/paymentProvider.ts';
import type { Clock } from '../platform/clock.ts';
import { defineStage, type Stage } from '../workItems/defineStage.ts';
import { NotNow } from '../workItems/notNow.ts';
import { reconcileStageName } from './reconcileItem.ts';
import { type PaymentFound, settleFound } from './settleFound.ts';

/**
 * For how long after an invoice was parked a search that finds no payment says nothing, in milliseconds. Stripe shows a
 * payment mostly within a minute, but later during an outage (https://docs.stripe.com/search#data-freshness), and that is
 * when invoices are parked.
 */
const searchUncertainMs = 3_600_000;

/** The provider could not say, or the store gave no clear answer: the work item is tried again later. */
export class NotReconciled extends NotNow {
  override readonly name = 'NotReconciled';
}

/** The provider knows no payment that settles the invoice. */
type NoneFound = Extract<FoundPayment, { kind: 'notFound' | 'differs' }>;

/** Milliseconds since the epoch; 0 where the timeline does not say, as after an edit by hand. */
function parkedAt({ timeline }: Invoice): number {
  const at = timeline.findLast(({ what }) => what === 'parked')?.at;
  return at === undefined ? 0 : Date.parse(at);
}

/** Whether there is still something to find out: a person may have decided meanwhile. */
export function isUnclear(invoice: Invoice | undefined, keyNumber: number): invoice is Invoice {
  return invoice?.status === 'parked' && invoice.payment.keyNumber === keyNumber;
}

/**
 * The stage that looks a parked invoice up at the provider. Found: it was charged, so it is paid, and its receipt is
 * ordered. Not found for an hour, or with another amount: it stays parked, and its timeline says so; to try again is then
 * for a person to decide. Nothing is ever charged here.
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
      const now = clock.now();
      if (found.kind === 'notFound' && now - parkedAt(invoice) < searchUncertainMs)
        throw new NotReconciled('the provider finds no payment, but its search may lag');
      const at = new Date(now).toISOString();
      const operations =
        found.kind === 'found'
          ? settleFound(invoice, paymentFound(found.paymentId, at), { now, by, notifies })
          : stays(invoice, found, at);
      context.assertHeld();
      const answer = await transact(container, shard, operations);
      // Whatever was written: the next delivery reads the invoice anew.
      if (answer.kind !== 'committed') throw new NotReconciled(`the store gave no clear answer for ${id}`);
      return found.kind === 'found'
        ? { result: 'paid', paymentId: found.paymentId }
        : { result: found.kind === 'differs' ? 'differs' : 'not found' };
    },
  });

  function paymentFound(paymentId: string, paidAt: string): PaymentFound {
    return { paymentId, paidAt, found: 'by reconciliation', occasion: `reconciled-${paymentId}` };
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
