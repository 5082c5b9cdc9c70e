import { createHash, randomUUID } from 'node:crypto';
import {
  isServiceBusError,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus';
import { traceProperties } from './tracing.ts';

/*
 * Dead-letters, renews and puts off messages that a Functions host has received. The host gives a Node function only the lock
 * token (`triggerMetadata.lockToken`), and the service needs no more: renewals always go over the queue's management
 * link, and dispositions may
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-request-response#message-operations). So the
 * receiver passed in here never receives.
 */

/**
 * Characters. The service takes at most 4,096 of each text
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-dead-letter-queues).
 */
const longestText = 2_000;

/**
 * Moves the message to the dead-letter queue. The host then tries to complete it, and logs that its lock is lost. @throws
 * ServiceBusError `MessageLockLost` if the lock has expired: the message is delivered again
 */
export async function deadLetter(
  receiver: Pick<ServiceBusReceiver, 'deadLetterMessage'>,
  lockToken: string,
  { reason, description }: { reason: string; description: string },
): Promise<void> {
  await receiver.deadLetterMessage(held(lockToken), {
    deadLetterReason: reason.slice(0, longestText),
    deadLetterErrorDescription: description.slice(0, longestText),
  });
}

/**
 * Renews the lock for the queue's full duration, `until` a time by the service's clock (ms since the epoch; 0: not said).
 * `lost`: it has expired, or the message is gone. @throws ServiceBusError for any other failure
 */
export async function renewMessageLock(
  receiver: Pick<ServiceBusReceiver, 'renewMessageLock'>,
  lockToken: string,
): Promise<{ kind: 'renewed'; until: number } | { kind: 'lost' }> {
  try {
    const until = (await receiver.renewMessageLock(held(lockToken))).getTime();
    // The client turns an answer without a time into a date that is none, and no key would be too old by that.
    return { kind: 'renewed', until: Number.isNaN(until) ? 0 : until };
  } catch (error) {
    if (isServiceBusError(error) && error.code === 'MessageLockLost') return { kind: 'lost' };
    throw error;
  }
}

/** Milliseconds. Opening a connection that swallows everything takes the client a minute (measured). */
const sendTimeoutMs = 15_000;

/**
 * The id of a message that is sent again: not its own, which duplicate detection would drop, and always the same, so that a
 * message delivered twice is sent once. Pure.
 */
export function idOfNext(messageId: string): string {
  return createHash('sha256').update(messageId).digest('hex').slice(0, 32);
}

/** Sends a message again in its trace, to appear after `delayMs` milliseconds. No id: it gets a random one. */
export async function sendAgain(
  sender: Pick<ServiceBusSender, 'sendMessages'>,
  body: unknown,
  delayMs: number,
  messageId?: string,
  { now = Date.now, traceparent }: { now?: () => number; traceparent?: string | undefined } = {},
): Promise<void> {
  const message = {
    messageId: messageId === undefined ? randomUUID() : idOfNext(messageId),
    contentType: 'application/json',
    body,
    ...(traceparent === undefined ? {} : { applicationProperties: traceProperties(traceparent) }),
    scheduledEnqueueTimeUtc: new Date(now() + delayMs),
  };
  await sender.sendMessages(message, { abortSignal: AbortSignal.timeout(sendTimeoutMs) });
}

/** Creates the operations of a function on the messages of one queue that the host has handed to it. */
export function heldMessages(
  receiver: Pick<ServiceBusReceiver, 'deadLetterMessage' | 'renewMessageLock'>,
  sender: Pick<ServiceBusSender, 'sendMessages'>,
) {
  return {
    deadLetter: (lockToken: string, why: { reason: string; description: string }) =>
      deadLetter(receiver, lockToken, why),
    renew: (lockToken: string) => renewMessageLock(receiver, lockToken),
    sendAgain: (message: unknown, delayMs: number, messageId?: string, traceparent?: string) =>
      sendAgain(sender, message, delayMs, messageId, { traceparent }),
  };
}

/** The fields the SDK reads from a message without a link, such as a deferred one. A test notices if they change. */
function held(lockToken: string): ServiceBusReceivedMessage {
  const message = { lockToken, delivery: {}, body: undefined, applicationProperties: {} };
  return message as unknown as ServiceBusReceivedMessage;
}
