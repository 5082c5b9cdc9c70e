/**
 * Resource ids (`_rid`) in the service's form: base64 of 4 bytes for a database, 8 for a container, 16 for an
 * item. Each starts with its parent's bytes, and `/` is written `-`. The SDK checks that a container's id has
 * 8 bytes.
 */
export function databaseRid(database: number): string {
  return encode(databaseBytes(database));
}

export function containerRid(database: number, container: number): string {
  return encode(containerBytes(database, container));
}

/** Returns a function from row ids to `_rid`s for one container's items. */
export function itemRids(database: number, container: number): (row: number) => string {
  const bytes = Buffer.alloc(16);
  containerBytes(database, container).copy(bytes);
  return (row) => {
    bytes.writeBigUInt64LE(BigInt(row), 8);
    return encode(bytes);
  };
}

/** An ETag, including its quotes. The sequence number makes it unique within its container forever. */
export function etagOf(container: number, sequence: number): string {
  return `"${hex(container, 8)}-0000-0000-0000-${hex(sequence, 12)}"`;
}

function databaseBytes(database: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(database);
  return bytes;
}

function containerBytes(database: number, container: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(database);
  // In the service's ids the highest bit marks a container.
  bytes.writeUInt32BE((container | 0x80000000) >>> 0, 4);
  return bytes;
}

const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('/', '-');
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
