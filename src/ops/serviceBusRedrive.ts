import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSender } from '@azure/service-bus';
import { systemClock } from '../platform/clock.ts';
import { traceProperties, traceparentIn } from '../platform/traceparent.ts';

/** How far one pass goes. */
export interface PassLimits {
  /** Messages; the oldest come first. */
  mostReceived: number;
  /** Milliseconds: well within the minute for which a message is locked, or the first would come round again. */
  longestMs: number;
}

export const defaultPassLimits: PassLimits = { mostReceived: 1_000, longestMs: 40_000 };

/** How long a pass waits for the next message, in milliseconds. */
const receiveWaitMs = 2_000;
const receiveAtOnce = 50;
/** Time-out of one request with its retries, in milliseconds. */
const requestTimeoutMs = 15_000;

interface Pass {
  receiver: Pick<ServiceBusReceiver, 'receiveMessages' | 'completeMessage' | 'abandonMessage'>;
  limits: PassLimits;
}

/**
 * Goes once through a dead-letter queue, oldest message first, and sends those with the given ids to the queue again. Yields
 * the id of each as soon as it is sent; a second message with the same id is sent too.
 *
 * A message that was sent and whose lock was lost stays in the dead-letter queue. Sending it again is harmless, because its
 * receiver looks at the claims as they are then, and within ten minutes the queue drops the second one: it has the same id.
 */
export async function* redriveFrom(
  { sender, receiver, limits }: Pass & { sender: Pick<ServiceBusSender, 'sendMessages'> },
  ids: ReadonlySet<string>,
): AsyncGenerator<string> {
  for await (const message of messagesOf({ receiver, limits }, ids)) {
    await sender.sendMessages(sentAgain(message), { abortSignal: AbortSignal.timeout(requestTimeoutMs) });
    yield idOf(message);
    await receiver.completeMessage(message).catch(ignored);
  }
}

/** The same, but throws them away. Yields the id of each once it is gone. */
export async function* discardFrom(
  { receiver, limits }: Pass,
  ids: ReadonlySet<string>,
): AsyncGenerator<string> {
  for await (const message of messagesOf({ receiver, limits }, ids)) {
    await receiver.completeMessage(message);
    yield idOf(message);
  }
}

/**
 * The messages with these ids. Messages cannot be received by id, so the others are received as well, and abandoned at the
 * end: earlier, they would come again at once.
 */
async function* messagesOf(
  { receiver, limits }: Pass,
  ids: ReadonlySet<string>,
): AsyncGenerator<ServiceBusReceivedMessage> {
  const found = new Set<string>();
  const passedBy: ServiceBusReceivedMessage[] = [];
  const until = systemClock.monotonic() + limits.longestMs;
  let received = 0;
  try {
    while (found.size < ids.size && received < limits.mostReceived && systemClock.monotonic() < until) {
      const messages = await receiver.receiveMessages(
        Math.min(receiveAtOnce, limits.mostReceived - received),
        { maxWaitTimeInMs: receiveWaitMs, abortSignal: AbortSignal.timeout(requestTimeoutMs) },
      );
      if (messages.length === 0) return;
      received += messages.length;
      passedBy.push(...messages.filter((message) => !ids.has(idOf(message))));
      for (const message of messages.filter((one) => ids.has(idOf(one)))) {
        yield message;
        found.add(idOf(message));
      }
    }
  } finally {
    await Promise.all(passedBy.map((message) => receiver.abandonMessage(message).catch(ignored)));
  }
}

/** The lock or the connection is lost. Either way the lock runs out and the message stays where it is. */
function ignored(): void {}

export function idOf({ messageId, sequenceNumber }: ServiceBusReceivedMessage): string {
  return String(messageId ?? sequenceNumber?.toString());
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
