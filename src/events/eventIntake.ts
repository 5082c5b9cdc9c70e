import { stripeSignedEvents } from '../paying/stripe/stripeEvents.ts';
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
  ...parts
}: EventListParts & { webhookSecrets: readonly string[] }) {
  const { send, instance } = parts;
  if (webhookSecrets.length > 0) {
    const read = stripeSignedEvents(webhookSecrets, () => instance.clock.now());
    return { receive: createReceiveEvent({ read, send, instance }), readList: async () => nothing };
  }
  return { receive: createReceiveEvent({ send, instance }), readList: createReadEventList(parts) };
}
