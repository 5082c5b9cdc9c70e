import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSender } from '@azure/service-bus';
import { systemClock } from '../platform/clock.ts';

/** How far one pass goes. */
export interface PassLimits {
  /** Messages. `GET ops/dead-letters` shows the oldest 100, and the oldest come first. */
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

/**
 * Goes once through a dead-letter queue, oldest message first, and sends those with the given ids to the queue again. Yields
 * the id of each as soon as it is sent; a second message with the same id is sent too. Messages cannot be received by id,
 * so the others are received as well, and abandoned at the end: earlier, they would come again at once.
 *
 * A message that was sent and whose lock was lost stays in the dead-letter queue. Sending it again is harmless, because its
 * receiver looks at the claims as they are then.
 */
export async function* redriveFrom(
  {
    receiver,
    sender,
    limits,
  }: {
    receiver: Pick<ServiceBusReceiver, 'receiveMessages' | 'completeMessage' | 'abandonMessage'>;
    sender: Pick<ServiceBusSender, 'sendMessages'>;
    limits: PassLimits;
  },
  ids: ReadonlySet<string>,
): AsyncGenerator<string> {
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
        await sender.sendMessages(sentAgain(message), { abortSignal: AbortSignal.timeout(requestTimeoutMs) });
        found.add(idOf(message));
        yield idOf(message);
        await receiver.completeMessage(message).catch(ignored);
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
  const { body, contentType, sequenceNumber } = message;
  const original = idOf(message).replace(/(:redriven:\d*)+$/, '');
  const suffix = `:redriven:${sequenceNumber?.toString() ?? ''}`;
  return {
    body: body as unknown,
    messageId: `${original.slice(0, longestId - suffix.length)}${suffix}`,
    ...(contentType === undefined ? {} : { contentType }),
  };
}
