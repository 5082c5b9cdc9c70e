import { z } from 'zod';
import { eventHints, type ProviderEvent } from '../paying/paymentProvider.ts';
import type { WorkItem } from '../workItems/workItem.ts';

export const eventStage = 'payment-event';

/** What is kept of an event: none of it is taken for true. */
export const eventInput = z.object({ hint: z.enum(eventHints), invoiceId: z.string().exactOptional() });

/** The work item that looks into an event. An event that comes twice gives the same one. Pure. */
export function eventItem({ eventId, paymentId, ...input }: ProviderEvent): WorkItem {
  return { resourceId: paymentId, stage: eventStage, occasion: eventId, input };
}
