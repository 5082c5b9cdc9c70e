import type { ProviderEvents } from '../paying/providerEvents.ts';
import type { StripeOptions } from '../paying/stripe/stripeClient.ts';
import { stripeEvents, stripeSignedEvents } from '../paying/stripe/stripeEvents.ts';
import { createReadEventList, type EventListParts, type EventsRead } from './readEventList.ts';
import { createReceiveEvent } from './receiveEvent.ts';

/** What a tick without a list of events has read. */
const nothing: EventsRead = { queued: 0 };

/**
 * How events come in. With `webhookSecrets` the provider delivers them; without, its list is read. Doing both would send
 * everything twice.
 */
export function eventIntake({
  webhookSecrets,
  stripe,
  events,
  ...parts
}: Omit<EventListParts, 'events'> & {
  webhookSecrets: readonly string[];
  stripe: StripeOptions;
  /** Instead of Stripe's list; `none`: the provider has no list. */
  events: ProviderEvents | 'none' | undefined;
}) {
  const { send, instance } = parts;
  if (webhookSecrets.length > 0) {
    const read = stripeSignedEvents(webhookSecrets, () => instance.clock.now());
    return { receive: createReceiveEvent({ read, send, instance }), readList: async () => nothing };
  }
  const receive = createReceiveEvent({ send, instance });
  if (events === 'none') return { receive, readList: async () => nothing };
  return { receive, readList: createReadEventList({ ...parts, events: events ?? stripeEvents(stripe) }) };
}
