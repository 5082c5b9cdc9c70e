import { errorText } from '@payonce/leases/error-text';
import Stripe from 'stripe';
import { z } from 'zod';
import type {
  EventHint,
  EventPage,
  EventQuery,
  ProviderEvent,
  ProviderEvents,
  ProviderSilent,
  RateLimited,
  ReadEvent,
  ReadSignedEvent,
} from '../paying/paymentProvider.ts';
import { type StripeOptions, stripeClient, withTimeOut } from './stripeClient.ts';
import { rateLimited } from './stripeErrors.ts';

/** Greatest age of a signature (s): five minutes (https://docs.stripe.com/webhooks#replay-attacks). */
const toleranceSeconds = 300;

/**
 * Reads what Stripe delivers. A body is parsed only if one of the secrets has signed it: there are several while one is
 * replaced (https://docs.stripe.com/webhooks#roll-endpoint-secrets). `now` in milliseconds.
 */
export function stripeSignedEvents(secrets: readonly string[], now: () => number): ReadSignedEvent {
  return (body, signature) => {
    if (signature === null || body.length === 0) return { kind: 'forged' };
    const reads = secrets.values().map((secret) => signedBy(secret, body, signature));
    return reads.find(({ kind }) => kind !== 'forged') ?? { kind: 'forged' };
  };

  function signedBy(secret: string, body: Uint8Array, signature: string): ReadEvent {
    try {
      return readStripeEvent(
        Stripe.webhooks.constructEvent(body, signature, secret, toleranceSeconds, undefined, now()),
      );
    } catch (error) {
      // It checks the signature first: any other error is about a body that Stripe has signed.
      const refused = error instanceof Stripe.errors.StripeSignatureVerificationError;
      return { kind: refused ? 'forged' : 'malformed' };
    }
  }
}

const pageSize = 100;
/** Fields by which a list is paged. */
const listedEvent = z.object({ id: z.string(), created: z.number() });

/** Stripe's list of events, which it keeps for 30 days (https://docs.stripe.com/api/events/list). */
export function stripeEvents(options: StripeOptions): ProviderEvents {
  const { timeoutMs } = options;
  const stripe = stripeClient(options);
  return {
    list: (query) =>
      withTimeOut<EventPage | RateLimited | ProviderSilent>(
        timeoutMs,
        () => page(query),
        (error) => rateLimited(error) ?? { kind: 'unknown', message: errorText(error) },
      ),
  };

  async function page({ from, until, after }: EventQuery): Promise<EventPage> {
    const { data, has_more: more } = await stripe.events.list({
      types: stripeEventTypes,
      created: { gte: from, ...(until === undefined ? {} : { lt: until }) },
      limit: pageSize,
      ...(after === undefined ? {} : { starting_after: after }),
    });
    const listed = z.array(listedEvent).parse(data);
    const [newest] = listed;
    const last = listed.at(-1);
    return {
      kind: 'page',
      events: data.flatMap(ours),
      ...(newest === undefined ? {} : { latest: newest.created }),
      ...(more && last !== undefined ? { next: last.id } : {}),
    };
  }
}

/** An event that cannot be read is passed over: the next page must not wait for it. */
function ours(listed: unknown): ProviderEvent[] {
  const read = readStripeEvent(listed);
  return read.kind === 'event' ? [read.event] : [];
}

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
  'payment_intent.amount_capturable_updated': 'alive',
  'charge.refunded': 'reversed',
  'charge.refund.updated': 'reversed',
  'refund.updated': 'reversed',
  'refund.failed': 'reversed',
  'charge.dispute.created': 'reversed',
  'charge.dispute.closed': 'reversed',
  'charge.dispute.funds_withdrawn': 'reversed',
  'charge.dispute.funds_reinstated': 'reversed',
} as const satisfies Record<string, EventHint>;

/** Types of events to subscribe an endpoint to, and to ask for in a list. */
const stripeEventTypes = Object.keys(hints) as (keyof typeof hints)[];

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
  const type = typeSchema.safeParse(value).data?.type;
  if (type === undefined) return { kind: 'malformed' };
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
