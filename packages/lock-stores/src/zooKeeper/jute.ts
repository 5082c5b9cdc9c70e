/**
 * Jute, the encoding of ZooKeeper's messages: big-endian numbers, and texts and bytes with their length in front
 * (https://github.com/apache/zookeeper/blob/master/zookeeper-jute/src/main/resources/zookeeper.jute).
 */
import type { Socket } from 'node:net';

export const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

export const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};

export const bool = (value: boolean): Buffer => Buffer.from([value ? 1 : 0]);

export const bytes = (value: Uint8Array): Buffer => Buffer.concat([int(value.length), value]);

export const text = (value: string): Buffer => bytes(Buffer.from(value, 'utf8'));

/** Reads the fields of a message, one after the other. Throws a RangeError behind its end. */
export interface JuteReader {
  int: () => number;
  long: () => bigint;
  bool: () => boolean;
  bytes: () => Buffer;
  text: () => string;
}

export function juteReader(message: Buffer): JuteReader {
  let at = 0;

  function skip(length: number): number {
    const from = at;
    at += length;
    return from;
  }

  function read(): Buffer {
    // Nothing has the length -1.
    const length = Math.max(0, message.readInt32BE(skip(4)));
    if (at + length > message.length) throw new RangeError('a message of ZooKeeper ends too soon');
    return message.subarray(skip(length), at);
  }

  return {
    int: () => message.readInt32BE(skip(4)),
    long: () => message.readBigInt64BE(skip(8)),
    bool: () => message.readUInt8(skip(1)) !== 0,
    bytes: read,
    text: () => read().toString('utf8'),
  };
}

/** More than any server sends. */
const longestMessage = 64 * 1024 * 1024;

/** Hands over each message that arrives, without its length. Destroys the socket if they make no sense. */
export function splitMessages(socket: Socket, receive: (message: Buffer) => void): void {
  let arrived: Buffer = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => {
    arrived = Buffer.concat([arrived, piece]);
    while (arrived.length >= 4) {
      const length = arrived.readInt32BE();
      if (length < 0 || length > longestMessage) {
        socket.destroy(new RangeError(`a message of ${length} bytes`));
        return;
      }
      if (arrived.length < 4 + length) return;
      const message = arrived.subarray(4, 4 + length);
      arrived = arrived.subarray(4 + length);
      receive(message);
    }
  });
}
