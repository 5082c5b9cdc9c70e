import type { ServiceBusReceivedMessage, ServiceBusSender } from '@azure/service-bus';
import { traceProperties, traceparentIn } from '../platform/traceparent.ts';
import type { Moved } from './deadLetters.ts';
import {
  idOf,
  ignored,
  type PassedQueue,
  type PassLimits,
  passThrough,
  requestTimeoutMs,
} from './serviceBusPass.ts';

/**
 * Sends the dead letters with the given ids to their queue again, every one if several have the same id. Yields each as soon
 * as it is sent, and those that are there but could not be received at the end.
 *
 * A message that was sent and whose lock was lost stays in the dead-letter queue. Sending it again is harmless, because its
 * receiver looks at the claims as they are then, and within five minutes the queue drops the second one: it has the same id.
 */
export async function* redriveFrom(
  {
    queue,
    sender,
    limits,
  }: { queue: PassedQueue; sender: Pick<ServiceBusSender, 'sendMessages'>; limits: PassLimits },
  ids: ReadonlySet<string>,
): AsyncGenerator<Moved> {
  for await (const passed of passThrough(queue, ids, limits)) {
    if (passed.kind === 'left') {
      yield passed;
      continue;
    }
    const { message, receiver } = passed;
    await sender.sendMessages(sentAgain(message), { abortSignal: AbortSignal.timeout(requestTimeoutMs) });
    yield { kind: 'moved', id: idOf(message) };
    await receiver.completeMessage(message).catch(ignored);
  }
}

/** The same, but throws them away. Yields each once it is gone. */
export async function* discardFrom(
  { queue, limits }: { queue: PassedQueue; limits: PassLimits },
  ids: ReadonlySet<string>,
): AsyncGenerator<Moved> {
  for await (const passed of passThrough(queue, ids, limits)) {
    if (passed.kind === 'left') {
      yield passed;
      continue;
    }
    await passed.receiver.completeMessage(passed.message);
    yield { kind: 'moved', id: idOf(passed.message) };
  }
}

/** Characters of a message id (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas). */
const longestId = 128;

/** A new id each time: under the old one duplicate detection would drop the message. */
function sentAgain(message: ServiceBusReceivedMessage) {
  const { body, contentType, sequenceNumber, applicationProperties } = message;
  const traceparent = traceparentIn(applicationProperties);
  const original = idOf(message).replace(/(:redriven:\d*)+$/, '');
  const suffix = `:redriven:${sequenceNumber?.toString() ?? ''}`;
  return {
    body: body as unknown,
    messageId: `${original.slice(0, longestId - suffix.length)}${suffix}`,
    ...(contentType === undefined ? {} : { contentType }),
    ...(traceparent === undefined ? {} : { applicationProperties: traceProperties(traceparent) }),
  };
}
