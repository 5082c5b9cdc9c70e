import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import type { TypedData } from '../coreTypes.ts';
import { bodyData, fromTypedData } from '../typedData.ts';

/** The body as on the real host: the bytes of a data section as text, a value or sequence section as JSON. */
export function messageData(body: unknown, dataType: 'string' | 'binary'): TypedData {
  if (body instanceof Uint8Array) return bodyData(body, dataType);
  return typeof body === 'string' ? { string: body } : { json: JSON.stringify(body ?? null) };
}

/**
 * The trigger metadata of the real host
 * (https://learn.microsoft.com/azure/azure-functions/functions-bindings-service-bus-trigger#message-metadata).
 * Leaves out members the message has no value for. The programming model parses text that is JSON.
 */
export function messageMetadata(message: ServiceBusReceivedMessage): Record<string, TypedData> {
  const metadata: Record<string, TypedData> = {
    DeliveryCount: { int: deliveryCount(message) },
    SequenceNumber: { json: String(message.sequenceNumber ?? 0) },
    LockToken: { string: message.lockToken ?? '' },
    ApplicationProperties: json(message.applicationProperties ?? {}),
    UserProperties: json(message.applicationProperties ?? {}),
  };
  addDate(metadata, 'EnqueuedTimeUtc', message.enqueuedTimeUtc);
  addDate(metadata, 'ExpiresAtUtc', message.expiresAtUtc);
  addDate(metadata, 'LockedUntil', message.lockedUntilUtc);
  addText(metadata, 'MessageId', message.messageId);
  addText(metadata, 'ContentType', message.contentType);
  addText(metadata, 'CorrelationId', message.correlationId);
  addText(metadata, 'DeadLetterSource', message.deadLetterSource);
  addText(metadata, 'PartitionKey', message.partitionKey);
  addText(metadata, 'ReplyTo', message.replyTo);
  addText(metadata, 'ReplyToSessionId', message.replyToSessionId);
  addText(metadata, 'SessionId', message.sessionId);
  addText(metadata, 'Subject', message.subject);
  addText(metadata, 'Label', message.subject);
  addText(metadata, 'To', message.to);
  return metadata;
}

/** The bodies of a batch, in the type in which the real host passes many. */
export function batchData(messages: ServiceBusReceivedMessage[], dataType: 'string' | 'binary'): TypedData {
  const bodies = messages.map(({ body }) => messageData(body, dataType));
  return dataType === 'binary'
    ? { collectionBytes: { bytes: bodies.map(({ bytes }) => bytes ?? new Uint8Array()) } }
    : { collectionString: { string: bodies.map(({ string, json: text }) => string ?? text ?? '') } };
}

/** The metadata of a batch: each member of a message's as an array, e.g. `MessageIdArray`. */
export function batchMetadata(messages: ServiceBusReceivedMessage[]): Record<string, TypedData> {
  const each = messages.map(messageMetadata);
  const names = new Set(each.flatMap((metadata) => Object.keys(metadata)));
  return Object.fromEntries(
    [...names].map((name) => [
      `${name}Array`,
      json(each.map((metadata) => fromTypedData(metadata[name]) ?? null)),
    ]),
  );
}

/** The service counts deliveries from 1, the JS SDK from 0. */
function deliveryCount({ deliveryCount = 0 }: ServiceBusReceivedMessage): number {
  return deliveryCount + 1;
}

function json(value: unknown): TypedData {
  return {
    json: JSON.stringify(value, (_, member: unknown) =>
      typeof member === 'bigint' ? Number(member) : member,
    ),
  };
}

type MessageText = ServiceBusReceivedMessage['messageId'];

function addText(metadata: Record<string, TypedData>, name: string, value: MessageText): void {
  if (value !== undefined && value !== '') metadata[name] = { string: value.toString() };
}

function addDate(metadata: Record<string, TypedData>, name: string, value: Date | undefined): void {
  if (value !== undefined && !Number.isNaN(value.getTime()))
    metadata[name] = { json: `"${value.toISOString()}"` };
}
