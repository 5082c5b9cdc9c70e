import { type Typed, types } from '../../packages/local-azure/src/serviceBus/amqp/rhea.ts';

/** The AMQP 1.0 frames that a tap has to understand. All others are `other`. */
export type Frame = { bytes: Buffer; channel: number } & (
  | { kind: 'other' }
  /** `answers`: the peer's channel whose session this frame completes. */
  | { kind: 'begin'; answers: number | undefined }
  /** `receives`: whether the sender of this frame is the link's receiver. */
  | { kind: 'attach'; name: string; handle: number; receives: boolean; address: string }
  /** A message or part of one; the first part carries its number and ids. */
  | ({ kind: 'transfer'; handle: number; deliveryId: number | undefined; more: boolean } & MessageIds)
  /** Covers the deliveries `first` to `last`; `receives`: whether the sender of this frame is their receiver. */
  | { kind: 'disposition'; receives: boolean; first: number; last: number; outcome: string }
);

interface MessageIds {
  messageId?: string;
  correlationId?: string;
}

/** Descriptors of performatives (AMQP 1.0, part 2.7). */
const begin = 0x11;
const attach = 0x12;
const transfer = 0x14;
const disposition = 0x15;
const outcomes: Record<number, string> = { 36: 'complete', 37: 'dead-letter', 38: 'release', 39: 'abandon' };
/** The message section with the ids (part 3.2.4). Sections that may precede it have lower descriptors. */
const properties = 0x73;

/**
 * Splits one direction of a connection into frames (AMQP 1.0, part 2.3). Protocol headers have no length field: they are
 * eight bytes and begin with the letters AMQP.
 */
export function createFrameReader(): (chunk: Buffer) => Frame[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const frames: Frame[] = [];
    while (rest.length >= 8) {
      const size = rest.toString('latin1', 0, 4) === 'AMQP' ? 8 : rest.readUInt32BE(0);
      if (rest.length < size) break;
      frames.push(readFrame(rest.subarray(0, size)));
      rest = rest.subarray(size);
    }
    return frames;
  };
}

function readFrame(bytes: Buffer): Frame {
  const start = bytes.readUInt8(4) * 4;
  const isAmqp = bytes.toString('latin1', 0, 4) !== 'AMQP' && bytes.readUInt8(5) === 0;
  const channel = isAmqp ? bytes.readUInt16BE(6) : 0;
  // A frame without a body is a keep-alive.
  if (!isAmqp || bytes.length <= start) return { kind: 'other', bytes, channel };
  const reader = new types.Reader(bytes.subarray(start));
  const performative = reader.read();
  const fields = fieldsOf(performative);
  const values = fields.map((field) => field?.value);
  switch (Number(performative.descriptor?.value)) {
    case begin:
      return { kind: 'begin', bytes, channel, answers: numberOf(values[0]) };
    case attach: {
      const receives = values[2] === true;
      const terminus = (receives ? values[5] : values[6]) as (Typed | undefined)[] | undefined;
      const address = terminus?.[0]?.value;
      return {
        kind: 'attach',
        bytes,
        channel,
        name: String(values[0]),
        handle: Number(values[1]),
        receives,
        address: typeof address === 'string' ? address : '',
      };
    }
    case transfer:
      return {
        kind: 'transfer',
        bytes,
        channel,
        handle: Number(values[0]),
        deliveryId: numberOf(values[1]),
        more: values[5] === true,
        ...messageIds(bytes.subarray(bytes.length - reader.remaining())),
      };
    case disposition: {
      const first = Number(values[1]);
      return {
        kind: 'disposition',
        bytes,
        channel,
        receives: values[0] === true,
        first,
        last: numberOf(values[2]) ?? first,
        outcome: outcomes[Number(fields[4]?.descriptor?.value)] ?? 'settle',
      };
    }
    default:
      return { kind: 'other', bytes, channel };
  }
}

/** The ids of the message that begins here; empty if its properties do not begin within this frame. */
function messageIds(payload: Buffer): MessageIds {
  const reader = new types.Reader(payload);
  for (;;) {
    const at = payload.length - reader.remaining();
    // A section begins with 0x00 0x53 and its descriptor. The frame may end in the middle of a later section.
    if (payload.length < at + 3 || payload.readUInt16BE(at) !== 0x0053) return {};
    if (payload.readUInt8(at + 2) > properties) return {};
    const section = reader.read();
    if (Number(section.descriptor?.value) !== properties) continue;
    const [messageId, , , , , correlationId] = fieldsOf(section).map((field) => field?.value);
    return {
      ...(isDefined(messageId) ? { messageId: String(messageId) } : {}),
      ...(isDefined(correlationId) ? { correlationId: String(correlationId) } : {}),
    };
  }
}

function fieldsOf({ value }: Typed): (Typed | undefined)[] {
  return value as (Typed | undefined)[];
}

function numberOf(value: unknown): number | undefined {
  return isDefined(value) ? Number(value) : undefined;
}

function isDefined(value: unknown): boolean {
  return value !== undefined && value !== null;
}
