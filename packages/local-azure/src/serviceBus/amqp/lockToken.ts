/**
 * A lock token is a UUID. Delivery tags use the byte order of .NET's Guid (the first three groups reversed);
 * `$management` requests use the order of RFC 4122.
 */
export function tokenToBytes(token: string): Buffer {
  return Buffer.from(token.replaceAll('-', ''), 'hex');
}

export function tokenFromBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function tokenToTag(token: string): Buffer {
  const bytes = tokenToBytes(token);
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}

export function tokenFromTag(tag: Buffer): string {
  const bytes = Buffer.from(tag);
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return tokenFromBytes(bytes);
}
