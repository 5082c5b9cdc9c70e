import { defineStage, type Effect, RetryLater, type Stage, type WorkItem } from '@payonce/jobs/work-items';
import { z } from 'zod';
import { eventStage } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { type EventHint, eventHints, type ProviderEvent } from '../paying/paymentProvider.ts';
import type { AfterParts } from './record.ts';
import { type Tracked, trackPayment } from './trackPayment.ts';

/** The part of an event that is kept: none of it is trusted. */
export const eventInput = z.object({ hint: z.enum(eventHints), invoiceId: z.string().exactOptional() });

/** The work item that looks into an event. An event that comes twice gives the same one. Pure. */
export function eventItem({ eventId, paymentId, ...input }: ProviderEvent): WorkItem {
  return { resourceId: paymentId, stage: eventStage, occasion: eventId, input };
}

/**
 * The stage that looks into an event: what the provider says of the payment now is recorded. So events may come twice, late, in any
 * order and with any content, and need no lease: each change is a compare-and-swap.
 *
 * One that comes before the settlement of its invoice is retried until then: it may be of another payment than the one that is being
 * made.
 */
export function paymentEventStage(parts: AfterParts): Stage {
  return defineStage({
    name: eventStage,
    lease: false,
    input: eventInput,
    async handle({ hint, invoiceId }, { resourceId: paymentId, tries = 0 }) {
      if (invoiceId !== undefined) {
        const invoice = await parts.invoices.find(invoiceId);
        if (invoice === undefined) return notHere(`invoice ${invoiceId} is not here`, tries);
        switch (decideHint(invoice, { hint, paymentId })) {
          case 'nothing':
            return { result: 'nothing new' };
          case 'wait':
            throw new RetryLater('the invoice is not settled yet');
          case 'retrieve':
        }
      }
      return recorded(await trackPayment(parts, paymentId), tries);
    },
  });

  async function recorded(tracked: Tracked, tries: number): Promise<Effect> {
    switch (tracked.kind) {
      case 'changed':
        return { result: 'recorded', status: tracked.status };
      case 'nothing':
        return { result: 'nothing new' };
      case 'notOurs':
        return { result: 'not ours', message: tracked.message };
      case 'notHere':
        return notHere(tracked.message, tries);
      case 'unsettled':
        throw new RetryLater('the invoice is not settled yet');
      case 'notAsked':
        throw new RetryLater(tracked.message);
    }
  }
}

/** A read may be older than the import of an invoice: that it is not here counts if it is so again at the next try. */
function notHere(message: string, tries: number): Effect {
  if (tries === 0) throw new RetryLater(message);
  return { result: 'not ours', message };
}

/**
 * Decides if the provider has to be asked about the payment of an event. Most are of cards that were charged a moment ago, of which
 * the answer to the charge has said it all. A wrong hint does no harm: nothing but the retrieved payment counts. Pure.
 */
export function decideHint(
  { status, payment }: Pick<Invoice, 'status' | 'payment'>,
  { hint, paymentId }: { hint: EventHint; paymentId: string },
): 'retrieve' | 'wait' | 'nothing' {
  // A refund or dispute that comes too early has to wait for the settlement: only the payment shows whether it is one.
  if (hint === 'reversed') return 'retrieve';
  const isAwaited = status === 'processing' && payment.inProgress?.id === paymentId;
  if (isAwaited) return hint === 'alive' ? 'nothing' : 'retrieve';
  if (hint === 'failed') return 'nothing';
  // Its settlement says what came of the charge. Another payment must not be forgotten meanwhile.
  if (status === 'claimed') return 'wait';
  // Another payment that moves money is one too many.
  return status === 'paid' && payment.id === paymentId ? 'nothing' : 'retrieve';
}
