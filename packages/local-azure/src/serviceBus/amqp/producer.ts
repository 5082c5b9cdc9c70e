import type { IncomingMessage } from '../broker/message.ts';
import type { Queue } from '../broker/queue.ts';
import { type AmqpCondition, underFault } from '../faults.ts';
import { DecodeError, propertySizes, readBatch, readMessage } from './codec.ts';
import type { Namespace, Peer } from './peer.ts';
import { asDelivery, type IncomingLink, outcomes, settle } from './rhea.ts';

/** Maximum size of a message or batch in the standard tier, in bytes. */
export const maxMessageSize = 256 * 1024;

/** Maximum size of one application property, and of all of a message's together, in bytes. */
const maxPropertySize = 32 * 1024;
const maxPropertiesSize = 64 * 1024;

const batchFormat = 0x8001_3700;

/** Serves a link on which a client sends. A transfer is accepted once all its messages are committed. */
export function serveProducer(
  { broker, faults }: Namespace,
  peer: Peer,
  link: IncomingLink,
  queue: Queue,
): void {
  link.on('message', ({ message, delivery: received, ...context }) => {
    if (received === undefined) return;
    const delivery = asDelivery(received);
    const { format } = context as { format?: number };
    const apply = () => {
      const messages = readTransfer(message as Buffer, format, queue);
      if (!Array.isArray(messages)) return settle(delivery, outcomes.rejected(messages));
      for (const each of messages) queue.enqueue(each, broker.now());
      broker.journal.afterCommit(() => settle(delivery, outcomes.accepted()));
    };
    const refuse = (error: AmqpCondition) => settle(delivery, outcomes.rejected(error));
    underFault(faults.take('send', queue.name), broker.clock, { apply, refuse, drop: peer.drop });
  });
}

function readTransfer(
  bytes: Buffer,
  format: number | undefined,
  queue: Queue,
): IncomingMessage[] | AmqpCondition {
  try {
    const encoded = format === batchFormat ? readBatch(bytes) : [bytes];
    const messages = encoded.map(readMessage);
    return (
      checkSize(bytes.length) ??
      messages.map((message) => checkMessage(message, queue)).find((problem) => problem !== undefined) ??
      messages
    );
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { condition: 'amqp:decode-error', description: error.message };
  }
}

/** The reason the namespace refuses messages of so many bytes, sent or scheduled together. Undefined if it takes them. */
export function checkSize(size: number): AmqpCondition | undefined {
  return size <= maxMessageSize
    ? undefined
    : tooLarge(`The received message (size ${size} bytes)`, maxMessageSize);
}

/** The reason a queue refuses a message, whether sent or scheduled. Undefined if it takes it. */
export function checkMessage(
  { messageId, sessionId, bare }: IncomingMessage,
  queue: Queue,
): AmqpCondition | undefined {
  if (bare.length > maxPropertySize) {
    const { together, values } = propertySizes(bare);
    if (together > maxPropertiesSize)
      return tooLarge(`The application properties (${together} bytes)`, maxPropertiesSize);
    const largest = Math.max(0, ...values);
    if (largest > maxPropertySize)
      return tooLarge(`An application property (${largest} bytes)`, maxPropertySize);
  }
  if (messageId.length > 128) return invalid('The MessageId is longer than 128 characters.');
  if (sessionId !== undefined && sessionId.length > 128) {
    return invalid('The SessionId is longer than 128 characters.');
  }
  if (queue.rules.requiresSession && sessionId === undefined) {
    return {
      condition: 'amqp:not-allowed',
      description: `The SessionId was not set on a message, and it cannot be sent to the entity "${queue.name}", which requires sessions.`,
    };
  }
  return undefined;
}

const tooLarge = (part: string, limit: number): AmqpCondition => ({
  condition: 'amqp:link:message-size-exceeded',
  description: `${part} exceeds the limit (${limit} bytes).`,
});

const invalid = (description: string): AmqpCondition => ({ condition: 'amqp:invalid-field', description });
