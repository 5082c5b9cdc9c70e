import type { JsonValue } from './json.ts';

/*
 * The effective partition key (EPK) of a partition key of version 2: the hash that decides which partition key range holds an
 * item. The SDK computes the same one to route bulk operations (utils/hashing in @azure/cosmos), and a test compares them.
 */

/** Upper-case hex. A hierarchical key has 32 digits for each of its values. */
export function effectivePartitionKey(values: readonly JsonValue[]): string {
  return values.map((value) => hashed(encoded(value))).join('');
}

/** The kind of value as one byte, then its bytes. `{}` stands for a missing value. */
function encoded(value: JsonValue): Buffer {
  if (value === null) return Buffer.of(1);
  if (typeof value === 'object') return Buffer.of(0);
  if (typeof value === 'boolean') return Buffer.of(value ? 3 : 2);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(9);
    bytes.writeUInt8(5);
    bytes.writeDoubleLE(value, 1);
    return bytes;
  }
  return Buffer.concat([Buffer.of(8), Buffer.from(value), Buffer.of(0xff)]);
}

/** The hash as one number, its second half first, without the two highest bits. */
function hashed(bytes: Buffer): string {
  const [high, low] = murmur3(bytes);
  const digest = Buffer.alloc(16);
  digest.writeBigUInt64BE(low);
  digest.writeBigUInt64BE(high, 8);
  digest.writeUInt8(digest.readUInt8() & 0x3f);
  return digest.toString('hex').toUpperCase();
}

const u64 = (value: bigint) => BigInt.asUintN(64, value);
const rotated = (value: bigint, bits: bigint) => u64((value << bits) | (value >> (64n - bits)));
const c1 = 0x87c37b91114253d5n;
const c2 = 0x4cf5ad432745937fn;
const scrambled1 = (k: bigint) => u64(rotated(u64(k * c1), 31n) * c2);
const scrambled2 = (k: bigint) => u64(rotated(u64(k * c2), 33n) * c1);

/** MurmurHash3_x64_128 with seed 0 (https://github.com/aappleby/smhasher/wiki/MurmurHash3): its two halves. */
function murmur3(bytes: Buffer): [bigint, bigint] {
  let h1 = 0n;
  let h2 = 0n;
  const whole = bytes.length - (bytes.length % 16);
  for (let at = 0; at < whole; at += 16) {
    h1 ^= scrambled1(bytes.readBigUInt64LE(at));
    h1 = u64(u64(rotated(h1, 27n) + h2) * 5n + 0x52dce729n);
    h2 ^= scrambled2(bytes.readBigUInt64LE(at + 8));
    h2 = u64(u64(rotated(h2, 31n) + h1) * 5n + 0x38495ab5n);
  }
  const tail = Buffer.alloc(16);
  bytes.copy(tail, 0, whole);
  h2 ^= scrambled2(tail.readBigUInt64LE(8));
  h1 ^= scrambled1(tail.readBigUInt64LE(0));
  const length = BigInt(bytes.length);
  h1 = u64((h1 ^ length) + (h2 ^ length));
  h2 = u64((h2 ^ length) + h1);
  h1 = mixed(h1);
  h2 = mixed(h2);
  h1 = u64(h1 + h2);
  return [h1, u64(h2 + h1)];
}

function mixed(of: bigint): bigint {
  let value = u64((of ^ (of >> 33n)) * 0xff51afd7ed558ccdn);
  value = u64((value ^ (value >> 33n)) * 0xc4ceb9fe1a85ec53n);
  return value ^ (value >> 33n);
}
