import { crc32 } from 'node:zlib';

/** Bytes of the signature of a PNG. */
const signature = 8;

/**
 * Joins PNG pictures of the same size and colours into an animated one (https://www.w3.org/TR/png-3/#apng-frame-based-animation),
 * which repeats for ever. Each is shown for its time (ms).
 */
export function animatedPng(frames: readonly { png: Buffer; ms: number }[]): Buffer {
  const [first] = frames;
  if (first === undefined) throw new RangeError('no frame');
  const header = chunksOf(first.png).find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(0);
  let sequence = 0;
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames.length);
  const pictures = frames.flatMap(({ png, ms }, index) => {
    const chunks = chunksOf(png);
    if (chunks.find(({ type }) => type === 'IHDR')?.data.equals(header) !== true)
      throw new RangeError(`frame ${index} has another size or other colours than the first`);
    const frame = Buffer.alloc(26);
    frame.writeUInt32BE(sequence++);
    // Width and height are those of the picture.
    header.copy(frame, 4, 0, 8);
    frame.writeUInt16BE(ms, 20);
    frame.writeUInt16BE(1_000, 22);
    const data = chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data);
    return [
      chunk('fcTL', frame),
      ...data.map((bytes) => (index === 0 ? chunk('IDAT', bytes) : later(bytes))),
    ];
  });
  const start = first.png.subarray(0, signature);
  return Buffer.concat([start, chunk('IHDR', header), chunk('acTL', control), ...pictures, chunk('IEND')]);

  function later(bytes: Buffer): Buffer {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++);
    return chunk('fdAT', Buffer.concat([number, bytes]));
  }
}

/** Reads the chunks of a PNG (https://www.w3.org/TR/png-3/#5Chunk-layout). */
function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = signature; at < png.length;) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  return chunks;
}

function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(data.length);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}
