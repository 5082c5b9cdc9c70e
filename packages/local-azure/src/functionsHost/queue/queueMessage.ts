import type { TypedData } from '../coreTypes.ts';
import { bodyData } from '../typedData.ts';

export interface QueueMessage {
  messageId: string;
  popReceipt: string;
  messageText: string;
  dequeueCount: number;
  insertedOn: Date;
  expiresOn: Date;
  nextVisibleOn: Date;
}

/** The bytes of a message; undefined if it is not in the encoding set in host.json. */
export function decodeMessage(text: string, encoding: 'base64' | 'none'): Buffer | undefined {
  if (encoding === 'none') return Buffer.from(text);
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64') : undefined;
}

/** The real host's trigger metadata: seven members, as observed there. */
export function queueTriggerMetadata(message: QueueMessage, body: Buffer): Record<string, TypedData> {
  return {
    QueueTrigger: bodyData(body, 'string'),
    Id: { string: message.messageId },
    PopReceipt: { string: message.popReceipt },
    DequeueCount: { int: message.dequeueCount },
    InsertionTime: date(message.insertedOn),
    ExpirationTime: date(message.expiresOn),
    NextVisibleTime: date(message.nextVisibleOn),
  };
}

function date(value: Date): TypedData {
  return { json: JSON.stringify(value.toISOString().replace('Z', '+00:00')) };
}
