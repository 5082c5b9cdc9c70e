import {
  isServiceBusError,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
} from '@azure/service-bus';

/**
 * What can be done with a message that a Functions host has received. The host gives a function in Node only the lock token
 * (`triggerMetadata.lockToken`), and that is all that the service needs: renewals always go over the queue's management
 * link, dispositions may
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-request-response#message-operations). So the
 * receiver that is used here never receives.
 */

/** The service takes at most 4,096 characters of each (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-dead-letter-queues). */
const longestText = 2_000;

export interface DeadLetterReason {
  reason: string;
  description: string;
}

/**
 * Moves the message to the dead-letter queue, with a reason. The host then tries to complete it, is told that the lock is
 * lost, and logs that: the message stays where it is.
 *
 * @throws ServiceBusError `MessageLockLost` where the lock has run out: the message is delivered again
 */
export async function deadLetter(
  receiver: Pick<ServiceBusReceiver, 'deadLetterMessage'>,
  lockToken: string,
  { reason, description }: DeadLetterReason,
): Promise<void> {
  await receiver.deadLetterMessage(held(lockToken), {
    deadLetterReason: reason.slice(0, longestText),
    deadLetterErrorDescription: description.slice(0, longestText),
  });
}

/** `lost`: the lock ran out, or the message is gone; whoever gets it next works on it. */
export type LockRenewal = 'renewed' | 'lost';

/**
 * Renews the lock of the message: from now on it lasts as long as the queue says.
 *
 * @throws ServiceBusError where the service does not answer, or says anything else
 */
export async function renewMessageLock(
  receiver: Pick<ServiceBusReceiver, 'renewMessageLock'>,
  lockToken: string,
): Promise<LockRenewal> {
  try {
    await receiver.renewMessageLock(held(lockToken));
    return 'renewed';
  } catch (error) {
    if (isServiceBusError(error) && error.code === 'MessageLockLost') return 'lost';
    throw error;
  }
}

/** What the SDK looks at in a message without a link, such as one that was deferred; a test would see it change. */
function held(lockToken: string): ServiceBusReceivedMessage {
  const message = { lockToken, delivery: {}, body: undefined, applicationProperties: {} };
  return message as unknown as ServiceBusReceivedMessage;
}
