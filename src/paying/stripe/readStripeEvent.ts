import { z } from 'zod';
import type { EventHint, ReadEvent } from '../providerEvents.ts';

/**
 * The events that are of use here (https://docs.stripe.com/api/events/types), and what each says. Since 2024-10-28
 * `refund.updated` comes for every refund; `charge.refund.updated` still comes for some payment methods
 * (https://docs.stripe.com/changelog/acacia/2024-10-28/refund-webhook-update).
 */
const hints = {
  'payment_intent.succeeded': 'succeeded',
  'payment_intent.payment_failed': 'failed',
  'payment_intent.canceled': 'failed',
  'payment_intent.processing': 'alive',
  'charge.refunded': 'reversed',
  'charge.refund.updated': 'reversed',
  'refund.updated': 'reversed',
  'refund.failed': 'reversed',
  'charge.dispute.created': 'reversed',
  'charge.dispute.closed': 'reversed',
  'charge.dispute.funds_withdrawn': 'reversed',
  'charge.dispute.funds_reinstated': 'reversed',
} as const satisfies Record<string, EventHint>;

/** What to subscribe an endpoint to, and to ask for in a list. */
export const stripeEventTypes = Object.keys(hints) as (keyof typeof hints)[];

/** Goes into ids of Cosmos DB, which refuses four characters. */
const idSchema = z.string().regex(/^[\w-]{1,100}$/);
const metadataSchema = z.record(z.string(), z.unknown()).nullish();
const typeSchema = z.object({ type: z.string() });
const intentEvent = z.object({
  id: idSchema,
  data: z.object({ object: z.object({ id: idSchema, metadata: metadataSchema }) }),
});
/** Its id, or the object itself. Not every version has the latter, and none has more than these fields. */
const reference = z.union([idSchema, z.object({ id: idSchema }).transform(({ id }) => id)]).nullish();
const otherEvent = z.object({
  id: idSchema,
  data: z.object({
    object: z.object({
      object: z.string().optional(),
      payment_intent: reference,
      charge: z.unknown().optional(),
      metadata: metadataSchema,
    }),
  }),
});
const chargeSchema = z.object({ payment_intent: reference });

/**
 * Reads an event of any version of Stripe's API: only what is needed, and nothing that versions differ in. An event is of
 * no use if its payment intent lacks our metadata, or if it has no payment intent: we pay with nothing else. Pure.
 */
export function readStripeEvent(value: unknown): Exclude<ReadEvent, { kind: 'forged' }> {
  const typed = typeSchema.safeParse(value);
  if (!typed.success) return { kind: 'malformed' };
  const { type } = typed.data;
  if (!isOfUse(type)) return { kind: 'irrelevant' };
  const hint = hints[type];
  if (type.startsWith('payment_intent.')) {
    const parsed = intentEvent.safeParse(value);
    if (!parsed.success) return { kind: 'malformed' };
    const { id: eventId, data } = parsed.data;
    const invoiceId = invoiceOf(data.object.metadata);
    if (invoiceId === undefined) return { kind: 'irrelevant' };
    return { kind: 'event', event: { eventId, hint, paymentId: data.object.id, invoiceId } };
  }
  const parsed = otherEvent.safeParse(value);
  if (!parsed.success) return { kind: 'malformed' };
  const { id: eventId, data } = parsed.data;
  const { payment_intent: intent, charge, metadata } = data.object;
  const paymentId = intent ?? chargeSchema.safeParse(charge).data?.payment_intent;
  if (paymentId === undefined || paymentId === null) return { kind: 'irrelevant' };
  const invoiceId = invoiceOf(metadata);
  return {
    kind: 'event',
    event: { eventId, hint, paymentId, ...(invoiceId === undefined ? {} : { invoiceId }) },
  };
}

function isOfUse(type: string): type is keyof typeof hints {
  return Object.hasOwn(hints, type);
}

/** Stripe's values of metadata have at most 500 characters (https://docs.stripe.com/metadata). */
function invoiceOf(metadata: Record<string, unknown> | null | undefined): string | undefined {
  const id = metadata?.invoiceId;
  return typeof id === 'string' && id.length > 0 && id.length <= 500 ? id : undefined;
}
