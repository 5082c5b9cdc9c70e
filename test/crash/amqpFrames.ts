import { type Typed, types } from '../../local/serviceBus/amqp/rhea.ts';

/** A frame of AMQP 1.0, as far as a tap must understand it. Others pass as `other`. */
export type Frame = { bytes: Buffer } & (
  | { kind: 'other' }
  | { kind: 'attach'; name: string; handle: number; receives: boolean; address: string }
  | { kind: 'transfer'; handle: number; deliveryId: number | undefined; more: boolean }
  | { kind: 'disposition'; first: number; outcome: string }
);

const attach = 0x12;
const transfer = 0x14;
const disposition = 0x15;
const outcomes: Record<number, string> = { 36: 'complete', 37: 'dead-letter', 38: 'release', 39: 'abandon' };

/**
 * Cuts one direction of a connection into frames (AMQP 1.0, part 2.3). The protocol headers, which have no length, begin
 * with the letters AMQP and take eight bytes.
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
  // A frame without a body keeps the connection alive.
  if (!isAmqp || bytes.length <= start) return { kind: 'other', bytes };
  const performative = new types.Reader(bytes.subarray(start)).read();
  const fields = (performative.value as (Typed | undefined)[]).map((field) => field?.value);
  switch (Number(performative.descriptor?.value)) {
    case attach: {
      const receives = fields[2] === true;
      const terminus = (receives ? fields[5] : fields[6]) as (Typed | undefined)[] | undefined;
      const address = terminus?.[0]?.value;
      return {
        kind: 'attach',
        bytes,
        name: String(fields[0]),
        handle: Number(fields[1]),
        receives,
        address: typeof address === 'string' ? address : '',
      };
    }
    case transfer: {
      const id = fields[1];
      const deliveryId = id === undefined || id === null ? undefined : Number(id);
      return { kind: 'transfer', bytes, handle: Number(fields[0]), deliveryId, more: fields[5] === true };
    }
    case disposition: {
      const state = (performative.value as (Typed | undefined)[])[4]?.descriptor?.value;
      return {
        kind: 'disposition',
        bytes,
        first: Number(fields[1]),
        outcome: outcomes[Number(state)] ?? 'settle',
      };
    }
    default:
      return { kind: 'other', bytes };
  }
}
