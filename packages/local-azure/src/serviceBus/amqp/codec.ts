/**
 * Reads only as much of an AMQP message as a broker must: finds the sections by length and keeps the bytes.
 * Decoding and re-encoding would change types (an int becomes a uint) and take most of the processing time.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from '../broker/message.ts';
import { type Typed, types } from './rhea.ts';

const sectionCodes = {
  header: 0x70,
  deliveryAnnotations: 0x71,
  messageAnnotations: 0x72,
  properties: 0x73,
  applicationProperties: 0x74,
  data: 0x75,
} as const;

export interface Section {
  code: number;
  /** Offset of the section, including its descriptor. */
  start: number;
  /** Offset of the value's constructor. */
  value: number;
  end: number;
}

/** The bytes are not a valid AMQP message. */
export class DecodeError extends Error {
  override name = 'DecodeError';
}

export function readSections(buffer: Buffer): Section[] {
  const sections: Section[] = [];
  for (let start = 0; start < buffer.length;) {
    if (buffer[start] !== 0x00) throw new DecodeError(`no section at byte ${start}`);
    const descriptorEnd = endOfValue(buffer, start + 1);
    const end = endOfValue(buffer, descriptorEnd);
    if (end > buffer.length) throw new DecodeError(`the section at byte ${start} is truncated`);
    sections.push({ code: descriptorCode(buffer, start + 1), start, value: descriptorEnd, end });
    start = end;
  }
  return sections;
}

/** Offset just past the value at `at`. The upper half of the constructor byte gives its width. */
function endOfValue(buffer: Buffer, at: number): number {
  if (at >= buffer.length) throw new DecodeError('the message is truncated');
  const kind = (buffer[at] ?? 0) >> 4;
  if (kind === 0x4) return at + 1;
  if (kind >= 0x5 && kind <= 0x9) return at + 1 + (1 << (kind - 5));
  const wide = kind === 0xb || kind === 0xd || kind === 0xf;
  if (!wide && kind !== 0xa && kind !== 0xc && kind !== 0xe) {
    throw new DecodeError(`unknown constructor 0x${buffer[at]?.toString(16)} at byte ${at}`);
  }
  if (at + (wide ? 5 : 2) > buffer.length) throw new DecodeError('the message is truncated');
  return wide ? at + 5 + buffer.readUInt32BE(at + 1) : at + 2 + buffer.readUInt8(at + 1);
}

function descriptorCode(buffer: Buffer, at: number): number {
  if (buffer[at] === 0x53) return buffer[at + 1] ?? 0;
  if (buffer[at] === 0x80) return decoded(() => Number(buffer.readBigUInt64BE(at + 1)));
  throw new DecodeError('sections with symbolic descriptors are not supported');
}

export function readMessage(buffer: Buffer): IncomingMessage {
  const message: IncomingMessage = {
    messageId: '',
    sessionId: undefined,
    durable: false,
    priority: 4,
    timeToLive: undefined,
    scheduledFor: undefined,
    annotations: Buffer.alloc(0),
    annotationCount: 0,
    bare: Buffer.alloc(0),
  };
  let bareStart = buffer.length;
  let properties: Section | undefined;
  for (const section of readSections(buffer)) {
    if (section.code >= sectionCodes.properties) bareStart = Math.min(bareStart, section.start);
    if (section.code === sectionCodes.header) readHeader(message, buffer, section);
    else if (section.code === sectionCodes.messageAnnotations) readAnnotations(message, buffer, section);
    else if (section.code === sectionCodes.properties) properties = section;
  }
  message.bare = buffer.subarray(bareStart);
  readProperties(message, buffer, properties);
  return message;
}

function readHeader(message: IncomingMessage, buffer: Buffer, section: Section): void {
  const [durable, priority, ttl] = readList(buffer, section);
  if (durable?.value === true || durable?.value === 1) message.durable = true;
  if (typeof priority?.value === 'number') message.priority = priority.value;
  if (typeof ttl?.value === 'number') message.timeToLive = ttl.value;
}

/** Annotations that only the broker sets. A sender's values (from a message it forwards) are dropped. */
const ownAnnotations = new Set([
  'x-opt-enqueued-time',
  'x-opt-sequence-number',
  'x-opt-enqueue-sequence-number',
  'x-opt-locked-until',
  'x-opt-message-state',
  'x-opt-deadletter-source',
]);

function readAnnotations(message: IncomingMessage, buffer: Buffer, section: Section): void {
  const items = readList(buffer, section);
  const writer = new types.Writer();
  for (let at = 0; at + 1 < items.length; at += 2) {
    const [key, value] = [items[at], items[at + 1]];
    if (key === undefined || value === undefined || ownAnnotations.has(String(key.value))) continue;
    if (key.value === 'x-opt-scheduled-enqueue-time' && value.value !== null) {
      message.scheduledFor = Number(value.value);
    }
    writer.write(key);
    writer.write(value);
    message.annotationCount += 2;
  }
  message.annotations = writer.toBuffer();
}

const messageIdField = 0;
const groupIdField = 10;

/** Reads the ids from the properties. A message without an id gets one: the SDK needs it. */
function readProperties(message: IncomingMessage, buffer: Buffer, section: Section | undefined): void {
  const fields = section === undefined ? [] : readList(buffer, section);
  const sessionId = fields[groupIdField]?.value;
  if (typeof sessionId === 'string') message.sessionId = sessionId;
  const id = fields[messageIdField]?.value;
  if (typeof id === 'string' || typeof id === 'number') {
    message.messageId = String(id);
    return;
  }
  if (Buffer.isBuffer(id)) {
    message.messageId = id.toString('hex');
    return;
  }
  message.messageId = randomUUID();
  fields[messageIdField] = types.wrap_string(message.messageId);
  const rest = section === undefined ? message.bare : buffer.subarray(section.end);
  message.bare = Buffer.concat([encodeSection(sectionCodes.properties, types.wrap_list(fields)), rest]);
}

/** The items of a list, or the keys and values of a map, alternating. */
function readList(buffer: Buffer, section: Section): Typed[] {
  const { value } = decoded(() => new types.Reader(buffer.subarray(section.value, section.end)).read());
  // Copied, because rhea shares one array between all empty lists.
  return Array.isArray(value) ? [...(value as Typed[])] : [];
}

/** Wraps the various errors that rhea throws on malformed bytes. @throws {DecodeError} */
function decoded<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    throw new DecodeError('the message is malformed', { cause });
  }
}

function encodeSection(code: number, value: Typed): Buffer {
  const writer = new types.Writer();
  writer.write(types.described(types.wrap_ulong(code), value));
  return writer.toBuffer();
}

/** A copy of a bare message with some application properties set. @throws {DecodeError} */
export function withApplicationProperties(bare: Buffer, changes: Record<string, unknown>): Buffer {
  const entries = Object.entries(changes).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return bare;
  return withSection(bare, sectionCodes.applicationProperties, (items) => {
    for (const [name, value] of entries) setItem(items, name, types.wrap(value));
    return types.Map32(items);
  });
}

/** The same with one property, whose name is compared without case. Without a value, it is removed. @throws {DecodeError} */
export function withApplicationProperty(bare: Buffer, name: string, value: unknown): Buffer {
  const same = (item: Typed, index: number) =>
    index % 2 === 0 && String(item.value).toLowerCase() === name.toLowerCase();
  return withSection(bare, sectionCodes.applicationProperties, (items) => {
    const at = items.findIndex(same);
    if (value === undefined) return types.Map32(at < 0 ? items : items.toSpliced(at, 2));
    const set = types.wrap(value);
    return types.Map32(at < 0 ? [...items, types.wrap_string(name), set] : items.with(at + 1, set));
  });
}

/** A copy of a message with one of its AMQP properties. @throws {DecodeError} */
export function withField<Changed extends IncomingMessage>(
  message: Changed,
  place: number,
  value: Typed,
): Changed {
  const bare = withSection(message.bare, sectionCodes.properties, (fields) => {
    while (fields.length <= place) fields.push(types.wrap(null));
    return types.wrap_list(fields.with(place, value));
  });
  const copy = { ...message, bare, sessionId: undefined };
  readProperties(copy, bare, readSections(bare)[0]);
  return copy;
}

function withSection(bare: Buffer, code: number, write: (items: Typed[]) => Typed): Buffer {
  const sections = readSections(bare);
  const section = sections.find((each) => each.code === code);
  const at = section?.start ?? sections.find((each) => each.code > code)?.start ?? bare.length;
  const value = write(section === undefined ? [] : readList(bare, section));
  return Buffer.concat([bare.subarray(0, at), encodeSection(code, value), bare.subarray(section?.end ?? at)]);
}

function setItem(items: Typed[], name: string, value: Typed): void {
  for (let at = 0; at + 1 < items.length; at += 2) {
    if (items[at]?.value === name) {
      items[at + 1] = value;
      return;
    }
  }
  items.push(types.wrap_string(name), value);
}

/** Encoded sizes of a bare message's application properties, in bytes: together, and of each value. */
export function propertySizes(bare: Buffer): { together: number; values: number[] } {
  const section = readSections(bare).find(({ code }) => code === sectionCodes.applicationProperties);
  if (section === undefined) return { together: 0, values: [] };
  const items = bare.subarray(section.value, section.end);
  const sizes: number[] = [];
  // A map has its size and its count, of one or four bytes each, and then keys and values in turn.
  for (let at = items[0] === 0xd1 ? 9 : 3, index = 0; at < items.length; index++) {
    const end = endOfValue(items, at);
    if (index % 2 === 1) sizes.push(end - at);
    at = end;
  }
  return { together: items.length, values: sizes };
}

/** The messages in a transfer of format 0x80013700: one encoded message per data section. */
export function readBatch(buffer: Buffer): Buffer[] {
  return readSections(buffer)
    .filter(({ code }) => code === sectionCodes.data)
    .map(({ value, end }) => {
      const headerBytes = buffer[value] === 0xa0 ? 2 : 5;
      return buffer.subarray(value + headerBytes, end);
    });
}
