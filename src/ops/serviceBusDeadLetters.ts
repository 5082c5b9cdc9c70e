import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus';
import { isPoisonId } from '../workItems/poison.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import { defaultPassLimits, discardFrom, idOf, type PassLimits, redriveFrom } from './serviceBusRedrive.ts';

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
    async list(limit, behind) {
      const receiving = receiver();
      const bound = () => ({ abortSignal: AbortSignal.timeout(peekTimeoutMs) });
      try {
        if (beginning === undefined) {
          const [message] = await receiving.peekMessages(1, bound());
          const seen = message?.sequenceNumber;
          if (seen === undefined) return [];
          beginning = seen.subtract(seen);
        }
        const fromSequenceNumber = behind === undefined ? beginning : beginning.add(behind).add(1);
        const messages = await receiving.peekMessages(limit, { fromSequenceNumber, ...bound() });
        return messages.map((message) => ({
          id: idOf(message),
          source: queue,
          reason: reasonOf(message),
          at: message.enqueuedTimeUtc?.toISOString() ?? null,
          body: textOf(message.body),
          place: message.sequenceNumber?.toString() ?? '',
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
    async *discard(ids) {
      const receiving = receiver();
      try {
        yield* discardFrom({ receiver: receiving, limits }, ids);
      } finally {
        await receiving.close();
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
