/** Encodes a message for delivery: the broker's header and annotations, then the sender's bytes. */
import type { RestingPlace } from '../broker/journal.ts';
import type { Message } from '../broker/message.ts';
import { DecodeError, withApplicationProperties } from './codec.ts';

const stateNumber: Record<RestingPlace | 'locked', number> = {
  ready: 0,
  locked: 0,
  deferred: 1,
  scheduled: 2,
};

const maxUint = 0xffff_ffff;

export function encodeDelivered(
  message: Message,
  {
    lockedUntil,
    // One that was scheduled says so even when it is received.
    place = message.scheduledFor === undefined ? 'ready' : 'scheduled',
  }: { lockedUntil?: number; place?: RestingPlace | 'locked' } = {},
): Buffer {
  const own = [
    annotation('x-opt-enqueued-time', 0x83, message.enqueuedAt),
    annotation('x-opt-sequence-number', 0x81, message.sequenceNumber),
    annotation('x-opt-enqueue-sequence-number', 0x81, message.sequenceNumber),
    stateAnnotation(stateNumber[place]),
  ];
  if (lockedUntil !== undefined) own.push(annotation('x-opt-locked-until', 0x83, lockedUntil));
  if (message.deadLetter !== undefined) own.push(sourceAnnotation(message.deadLetter.source));
  const annotations = Buffer.concat([...own, message.annotations]);
  // Section 0x72 as map32. The size excludes itself but includes the 4 bytes of the count.
  const head = Buffer.allocUnsafe(12);
  head.set([0x00, 0x53, 0x72, 0xd1]);
  head.writeUInt32BE(annotations.length + 4, 4);
  head.writeUInt32BE(2 * own.length + message.annotationCount, 8);
  return Buffer.concat([header(message), head, annotations, bareOf(message)]);
}

/** A dead letter carries its reason in the application properties. */
function bareOf({ bare, deadLetter }: Message): Buffer {
  if (deadLetter === undefined) return bare;
  try {
    return withApplicationProperties(bare, {
      DeadLetterReason: deadLetter.reason,
      DeadLetterErrorDescription: deadLetter.description,
    });
  } catch (error) {
    // The sender's properties cannot be decoded, so none can be added. Deliver the message unchanged.
    if (error instanceof DecodeError) return bare;
    throw error;
  }
}

/** Section 0x70 as list8: durable, priority, ttl, first-acquirer, delivery-count. */
function header(message: Message): Buffer {
  const bytes = Buffer.allocUnsafe(20);
  const ttl = message.expiresAt === Infinity ? message.timeToLive : message.expiresAt - message.enqueuedAt;
  bytes.set([0x00, 0x53, 0x70, 0xc0, 0, 5, message.durable ? 0x41 : 0x42, 0x50, message.priority]);
  let at = 9;
  if (ttl === undefined || ttl > maxUint) {
    at = bytes.writeUInt8(0x40, at);
  } else {
    at = bytes.writeUInt8(0x70, at);
    at = bytes.writeUInt32BE(Math.max(0, ttl), at);
  }
  // The service never says so, not even of the first delivery.
  at = bytes.writeUInt8(0x42, at);
  at = bytes.writeUInt8(0x70, at);
  at = bytes.writeUInt32BE(message.deliveryCount, at);
  bytes[4] = at - 5;
  return bytes.subarray(0, at);
}

/** Key (symbol) and value (8 bytes: long 0x81, timestamp 0x83) of one annotation. */
function annotation(name: string, typecode: 0x81 | 0x83, value: number): Buffer {
  const bytes = Buffer.allocUnsafe(name.length + 11);
  const at = writeKey(bytes, name);
  bytes[at] = typecode;
  bytes.writeBigInt64BE(BigInt(Math.round(value)), at + 1);
  return bytes;
}

function stateAnnotation(state: number): Buffer {
  const name = 'x-opt-message-state';
  const bytes = Buffer.allocUnsafe(name.length + 4);
  const at = writeKey(bytes, name);
  bytes[at] = 0x54;
  bytes[at + 1] = state;
  return bytes;
}

function sourceAnnotation(source: string): Buffer {
  const name = 'x-opt-deadletter-source';
  const value = Buffer.from(source);
  const bytes = Buffer.allocUnsafe(name.length + 2);
  writeKey(bytes, name);
  const length = Buffer.allocUnsafe(5);
  length[0] = 0xb1;
  length.writeUInt32BE(value.length, 1);
  return Buffer.concat([bytes, length, value]);
}

function writeKey(bytes: Buffer, name: string): number {
  bytes[0] = 0xa3;
  bytes[1] = name.length;
  return 2 + bytes.write(name, 2, 'latin1');
}
