import type { ServiceBusClient, ServiceBusReceivedMessage } from '@azure/service-bus';
import { type QueueSender, sendToQueue } from '../platform/sendToQueue.ts';
import { isPoisonId, type PoisonItems } from '../workItems/poison.ts';
import { defaultPassLimits, idOf, type PassLimits, redriveFrom } from './deadLettersRedrive.ts';

/** A message that was given up. */
export interface DeadLetter {
  id: string;
  /** The queue that it was in. */
  source: string;
  reason: string;
  /** ISO 8601. */
  at: string | null;
  body: unknown;
}

/** A place where messages end that were given up, and from which they can be sent again. */
export interface DeadLetterSource {
  name: string;
  list(limit: number): Promise<DeadLetter[]>;
  /** Whether an id can be one of this source: it spares a look through the others. */
  owns(id: string): boolean;
  /** Sends those with these ids again, and gives each id as soon as that is done: what then fails undoes nothing. */
  redrive(ids: ReadonlySet<string>): AsyncIterable<string>;
}

const mostRedriven = 1_000;

/** Poison messages of a Storage Queue, as they are recorded. */
export function poisonSource(poison: PoisonItems, queue: QueueSender & { name: string }): DeadLetterSource {
  return {
    name: queue.name,
    owns: isPoisonId,
    async list(limit) {
      const items = await poison.list(limit);
      return items.map(({ id, reason, at, text }) => ({ id, source: queue.name, reason, at, body: text }));
    },
    async *redrive(ids) {
      const wanted = (await poison.list(mostRedriven)).filter(({ id }) => ids.has(id));
      for (const item of wanted) {
        if (await poison.redrive(item, (text) => sendToQueue(queue, text))) yield item.id;
      }
    },
  };
}

/** Milliseconds: to open a connection that swallows everything takes the client a minute. */
const peekTimeoutMs = 15_000;

/** The dead-letter queue of a Service Bus queue. */
export function serviceBusDeadLetters(
  client: ServiceBusClient,
  queue: string,
  limits: PassLimits = defaultPassLimits,
): DeadLetterSource {
  const receiver = () => client.createReceiver(queue, { subQueueType: 'deadLetter' });
  // A client goes on peeking where it stopped, also through another receiver: after the first message that it has seen it
  // has to be told to begin at zero.
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
          body: readable(message.body),
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

/** A body that is no JSON comes as bytes. */
function readable(body: unknown): unknown {
  return Buffer.isBuffer(body) ? body.toString() : body;
}

function reasonOf(message: ServiceBusReceivedMessage): string {
  const { deadLetterReason = 'no reason given', deadLetterErrorDescription } = message;
  return deadLetterErrorDescription === undefined
    ? deadLetterReason
    : `${deadLetterReason}: ${deadLetterErrorDescription}`;
}
