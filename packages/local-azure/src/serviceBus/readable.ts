import { decodeMessage } from './amqp/rhea.ts';
import type { PeekedMessage } from './broker/queue.ts';

/** A message as people read it: parsed where it is JSON. */
export function readable({ message, place }: PeekedMessage): Record<string, unknown> {
  const { bare, messageId, sessionId, sequenceNumber, deliveryCount, enqueuedAt, scheduledFor, deadLetter } =
    message;
  const { subject, application_properties, body } = decodeMessage(bare);
  return {
    sequenceNumber,
    state: place,
    messageId,
    sessionId,
    subject,
    enqueuedAt: new Date(enqueuedAt),
    scheduledFor: scheduledFor === undefined ? undefined : new Date(scheduledFor),
    deliveryCount,
    deadLetter,
    applicationProperties: application_properties,
    body: readableBody(body),
  };
}

function readableBody(body: unknown): unknown {
  const { content = body } = (body ?? {}) as { content?: unknown };
  if (!Buffer.isBuffer(content)) return content;
  const text = content.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text.includes('\ufffd') ? { base64: content.toString('base64') } : text;
  }
}
