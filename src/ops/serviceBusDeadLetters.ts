import type { ServiceBusClient, ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { traceProperties, traceparentIn } from '../platform/tracing.ts';
import { isPoisonId } from '../workItems/poison.ts';
import type { DeadLetterSource } from './deadLetters.ts';
import {
  defaultPassLimits,
  idOf,
  ignored,
  type PassedQueue,
  type PassLimits,
  passThrough,
  requestTimeoutMs,
} from './serviceBusPass.ts';

/** Milliseconds. Opening a connection that swallows everything takes the client a minute. */
const peekTimeoutMs = 15_000;
const peekAtOnce = 250;

/**
 * The sequence number 0. A client goes on peeking where it stopped, even through another receiver, so it has to be told where
 * to begin. The type of these numbers is not exported: the first one that is seen gives it.
 */
let beginning: ServiceBusReceivedMessage['sequenceNumber'];

/** The dead-letter queue of a Service Bus queue. */
export function serviceBusDeadLetters(
  client: ServiceBusClient,
  queue: string,
  limits: PassLimits = defaultPassLimits,
): DeadLetterSource {
  const deadLetter = { subQueueType: 'deadLetter' } as const;
  const passed: PassedQueue = {
    // No renewals: a pass is over before its first lock ends, and thousands of timers would be kept for nothing.
    openReceiver: () =>
      client.createReceiver(queue, {
        ...deadLetter,
        skipParsingBodyAsJson: true,
        maxAutoLockRenewalDurationInMs: 0,
      }),
    async *peeked() {
      const receiver = client.createReceiver(queue, { ...deadLetter, skipParsingBodyAsJson: true });
      try {
        let behind: string | undefined;
        for (;;) {
          const messages = await peek(receiver, peekAtOnce, behind);
          if (messages.length === 0) return;
          yield* messages;
          behind = messages.at(-1)?.sequenceNumber?.toString();
        }
      } finally {
        await receiver.close();
      }
    },
  };

  async function peek(
    receiver: Pick<ServiceBusReceiver, 'peekMessages'>,
    limit: number,
    behind?: string,
  ): Promise<ServiceBusReceivedMessage[]> {
    const bound = () => ({ abortSignal: AbortSignal.timeout(peekTimeoutMs) });
    if (beginning === undefined) {
      const [message] = await receiver.peekMessages(1, bound());
      const seen = message?.sequenceNumber;
      // Another call may have moved the client on meanwhile, and knows the number.
      beginning ??= seen?.subtract(seen);
      if (beginning === undefined) return [];
    }
    const fromSequenceNumber = behind === undefined ? beginning : beginning.add(behind).add(1);
    return receiver.peekMessages(limit, { fromSequenceNumber, ...bound() });
  }

  return {
    name: queue,
    owns: (id) => !isPoisonId(id),
    async list(limit, behind) {
      const receiver = client.createReceiver(queue, deadLetter);
      try {
        const messages = await peek(receiver, limit, behind);
        return messages.map((message) => ({
          id: idOf(message),
          source: queue,
          reason: reasonOf(message),
          at: message.enqueuedTimeUtc?.toISOString() ?? null,
          body: textOf(message.body),
          place: message.sequenceNumber?.toString() ?? '',
        }));
      } finally {
        await receiver.close();
      }
    },
    /**
     * Yields each as soon as it is sent. A message that was sent and whose lock was lost stays in the dead-letter queue. Sending
     * it again is harmless, because its receiver looks at the claims as they are then, and within five minutes the queue drops
     * the second one: it has the same id.
     */
    async *redrive(ids) {
      const sender = client.createSender(queue);
      try {
        for await (const found of passThrough(passed, ids, limits)) {
          if (found.kind === 'left') yield found;
          else {
            const { message, receiver } = found;
            const bound = { abortSignal: AbortSignal.timeout(requestTimeoutMs) };
            await sender.sendMessages(sentAgain(message), bound);
            yield { kind: 'moved', id: idOf(message) };
            await receiver.completeMessage(message).catch(ignored);
          }
        }
      } finally {
        await sender.close();
      }
    },
    async *discard(ids) {
      for await (const found of passThrough(passed, ids, limits)) {
        if (found.kind === 'received') await found.receiver.completeMessage(found.message);
        yield found.kind === 'left' ? found : { kind: 'moved', id: idOf(found.message) };
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
