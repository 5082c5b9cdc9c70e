import type { ProviderEvents } from '../paying/providerEvents.ts';
import type { StripeOptions } from '../paying/stripe/stripeClient.ts';
import { stripeEvents, stripeSignedEvents } from '../paying/stripe/stripeEvents.ts';
import type { Effects } from '../workItems/effects.ts';
import type { WorkItem } from '../workItems/workItem.ts';
import { createReadEventList, type EventListParts, type EventsRead } from './readEventList.ts';
import { createReceiveEvent } from './receiveEvent.ts';

/** What a tick without a list of events has read. */
const nothing: EventsRead = { queued: 0 };

/**
 * How events come in. Without `webhookSecrets` the provider's list is read at every tick. With them the provider delivers its
 * events, and the list is read once an hour for those that did not arrive.
 */
export function eventIntake({
  webhookSecrets,
  stripe,
  events,
  effects,
  ...parts
}: Omit<EventListParts, 'events' | 'isDone'> & {
  webhookSecrets: readonly string[];
  stripe: StripeOptions;
  /** Instead of Stripe's list; `none`: the provider has no list. */
  events: ProviderEvents | 'none' | undefined;
  effects: Pick<Effects, 'has'>;
}) {
  const { send, instance } = parts;
  const isDelivered = webhookSecrets.length > 0;
  const signed = isDelivered && { read: stripeSignedEvents(webhookSecrets, () => instance.clock.now()) };
  const receive = createReceiveEvent({ ...signed, send, instance });
  if (events === 'none') return { receive, readList: async () => nothing };
  const list = { ...parts, events: events ?? stripeEvents(stripe) };
  const isDone = (item: WorkItem) => effects.has(item);
  return { receive, readList: createReadEventList(isDelivered ? { ...list, isDone } : list) };
}
