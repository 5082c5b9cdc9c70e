import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';

/** The service takes at most 4,096 characters of each (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-dead-letter-queues). */
const longestText = 2_000;

export interface DeadLetterReason {
  reason: string;
  description: string;
}

/**
 * Moves a message that a Functions host has received to the dead-letter queue, with a reason. The host gives a function in
 * Node only the lock token (`triggerMetadata.lockToken`), and that is all that the service needs: the disposition goes
 * over the queue's management link
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-request-response#update-disposition), as the
 * SDK does it by itself for a message that came without a receiver link. `receiver` never receives.
 *
 * The host then tries to complete the message, is told that the lock is lost, and logs that: the message stays where it is.
 *
 * @throws ServiceBusError `MessageLockLost` where the lock has run out: the message is delivered again
 */
export async function deadLetter(
  receiver: Pick<ServiceBusReceiver, 'deadLetterMessage'>,
  lockToken: string,
  { reason, description }: DeadLetterReason,
): Promise<void> {
  // What the SDK looks at in a message without a link, such as one that was deferred; a test would see it change.
  const message = { lockToken, delivery: {}, body: undefined, applicationProperties: {} };
  await receiver.deadLetterMessage(message as unknown as ServiceBusReceivedMessage, {
    deadLetterReason: reason.slice(0, longestText),
    deadLetterErrorDescription: description.slice(0, longestText),
  });
}
