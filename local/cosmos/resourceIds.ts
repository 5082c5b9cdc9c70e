/**
 * Resource ids (`_rid`) in the service's form: base64 of 4 bytes for a database, 8 for a container, 16 for an item, each
 * beginning with its parent's; `/` is written `-`. The SDK checks the 8 bytes of a container.
 */
export function databaseRid(database: number): string {
  return encode(databaseBytes(database));
}

export function containerRid(database: number, container: number): string {
  return encode(containerBytes(database, container));
}

/** Makes the `_rid`s of one container's items from their row ids. */
export function itemRids(database: number, container: number): (row: number) => string {
  const bytes = Buffer.alloc(16);
  containerBytes(database, container).copy(bytes);
  return (row) => {
    bytes.writeBigUInt64LE(BigInt(row), 8);
    return encode(bytes);
  };
}

/** An ETag, quotes included; the sequence number makes it unique in its container for all time. */
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
  // The highest bit marks a container in the service's ids.
  bytes.writeUInt32BE((container | 0x80000000) >>> 0, 4);
  return bytes;
}

const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('/', '-');
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
