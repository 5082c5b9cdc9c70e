import { stripeSignedEvents } from '../stripe/stripeEvents.ts';
import type { Effects } from '../workItems/effects.ts';
import type { WorkItem } from '../workItems/workItem.ts';
import { createReadEventList, type EventListParts } from './readEventList.ts';
import { createReceiveEvent } from './receiveEvent.ts';

/**
 * Takes events in. Without `webhookSecrets` the provider's list is read at every tick. With them the provider delivers its
 * events, and the list is read once an hour for those that did not arrive.
 */
export function eventIntake({
  webhookSecrets,
  effects,
  ...parts
}: Omit<EventListParts, 'isDone'> & {
  webhookSecrets: readonly string[];
  effects: Pick<Effects, 'has'>;
}) {
  const { send, instance } = parts;
  const isDelivered = webhookSecrets.length > 0;
  const signed = isDelivered && { read: stripeSignedEvents(webhookSecrets, () => instance.clock.now()) };
  const receive = createReceiveEvent({ ...signed, send, instance });
  const isDone = (item: WorkItem) => effects.has(item);
  return { receive, readList: createReadEventList(isDelivered ? { ...parts, isDone } : parts) };
}
