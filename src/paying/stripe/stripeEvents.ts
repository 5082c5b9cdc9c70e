import Stripe from 'stripe';
import { z } from 'zod';
import { errorText } from '../../platform/errorText.ts';
import type {
  EventPage,
  EventQuery,
  ProviderEvent,
  ProviderEvents,
  ReadEvent,
  ReadSignedEvent,
} from '../providerEvents.ts';
import { rateLimited } from './classifyStripe.ts';
import { readStripeEvent, stripeEventTypes } from './readStripeEvent.ts';
import { inTime, type StripeOptions, stripeClient } from './stripeClient.ts';

/** How old a signature may be, in seconds: five minutes (https://docs.stripe.com/webhooks#replay-attacks). */
const toleranceSeconds = 300;

/**
 * Reads what Stripe delivers. A body is parsed only if one of the secrets has signed it: there are several while one is
 * replaced (https://docs.stripe.com/webhooks#roll-endpoint-secrets). `now` in milliseconds.
 */
export function stripeSignedEvents(secrets: readonly string[], now: () => number): ReadSignedEvent {
  return (body, signature) => {
    if (signature === null || body.length === 0) return { kind: 'forged' };
    for (const secret of secrets) {
      const read = signedBy(secret, body, signature);
      if (read.kind !== 'forged') return read;
    }
    return { kind: 'forged' };
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
/** What a list is paged by, whatever else an event has. */
const listedEvent = z.object({ id: z.string(), created: z.number() });

/** Stripe's list of events, which it keeps for 30 days (https://docs.stripe.com/api/events/list). */
export function stripeEvents(options: StripeOptions): ProviderEvents {
  const { timeoutMs } = options;
  const stripe = stripeClient(options);
  return {
    async list(query) {
      return inTime(timeoutMs, async () => {
        try {
          return await page(query);
        } catch (error) {
          return rateLimited(error) ?? { kind: 'unknown' as const, message: errorText(error) };
        }
      });
    },
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
