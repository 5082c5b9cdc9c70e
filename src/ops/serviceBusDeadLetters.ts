import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus';
import { isPoisonId } from '../workItems/poison.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { defaultPassLimits, idOf, type PassLimits, redriveFrom } from './serviceBusRedrive.ts';

/** Milliseconds. Opening a connection that swallows everything takes the client a minute. */
const peekTimeoutMs = 15_000;

/** The dead-letter queue of a Service Bus queue. */
export function serviceBusDeadLetters(
  client: ServiceBusClient,
  queue: string,
  limits: PassLimits = defaultPassLimits,
): DeadLetterSource {
  const receiver = () => client.createReceiver(queue, { subQueueType: 'deadLetter' });
  // A client goes on peeking where it stopped, even through another receiver: once it has seen a message it has to be told
  // to begin at zero.
  let beginning: ServiceBusReceivedMessage['sequenceNumber'];
  return {
    name: queue,
    owns: (id) => !isPoisonId(id),
    async list(limit) {
      const receiving = receiver();
      try {
        const messages = await receiving.peekMessages(limit, {
          ...(beginning === undefined ? {} : { fromSequenceNumber: beginning }),
          abortSignal: AbortSignal.timeout(peekTimeoutMs),
        });
        const seen = messages[0]?.sequenceNumber;
        beginning ??= seen?.subtract(seen);
        return messages.map((message) => ({
          id: idOf(message),
          source: queue,
          reason: reasonOf(message),
          at: message.enqueuedTimeUtc?.toISOString() ?? null,
          body: textOf(message.body),
        }));
      } finally {
        await receiving.close();
      }
    },
    async *redrive(ids) {
      const receiving = receiver();
      const sender = client.createSender(queue);
      try {
        yield* redriveFrom({ receiver: receiving, sender, limits }, ids);
      } finally {
        await Promise.all([receiving.close(), sender.close()]);
      }
    },
  };
}

/** A body that is not JSON comes as bytes. */
function textOf(body: unknown): unknown {
  return Buffer.isBuffer(body) ? body.toString() : body;
}

function reasonOf(message: ServiceBusReceivedMessage): string {
  const { deadLetterReason = 'no reason given', deadLetterErrorDescription } = message;
  return deadLetterErrorDescription === undefined
    ? deadLetterReason
    : `${deadLetterReason}: ${deadLetterErrorDescription}`;
}
