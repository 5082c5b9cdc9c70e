import { createHash } from 'node:crypto';
import { checkKey } from '@payonce/leases';
import { aText } from '../answers.ts';

/** JSON in ASCII, for databases of any character set. */
export function asciiJson(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Any text as ASCII: what is not is escaped as in JSON. So no character set, collation or normalization of a database
 * makes two texts equal, or changes one. Each UTF-16 code unit is escaped by itself: a text begins with another
 * exactly if their ASCII forms do.
 */
export function toAscii(text: string): string {
  return asciiJson(JSON.stringify(text).slice(1, -1));
}

export function fromAscii(ascii: string): string {
  return aText(JSON.parse(`"${ascii}"`));
}

/** A version as a row has it. One that no row can have becomes a text that none has. */
export function rowVersion(version: string): string {
  return /^[0-9a-f-]{36}$/.test(version) ? version : 'none';
}

/**
 * SHA-256 of a key, 32 bytes: an index entry of a database is too short for the longest keys (PostgreSQL: 2,704 bytes,
 * InnoDB: 3,072).
 *
 * @throws RangeError for an empty key, or one longer than 1,024 characters.
 */
export function keyHash(key: string): Buffer {
  checkKey(key);
  return createHash('sha256').update(toAscii(key)).digest();
}

/**
 * A hash of a key and its table, as a number of 64 bits with a sign. Two keys may have the same one.
 *
 * @throws RangeError for an empty key, or one longer than 1,024 characters.
 */
export function keyNumber(table: string, key: string): bigint {
  checkKey(key);
  return createHash('sha256')
    .update(`${table} ${toAscii(key)}`)
    .digest()
    .readBigInt64BE();
}

/**
 * A table name as SQL, each part between `quote`s.
 *
 * @throws RangeError unless it is `table` or `schema.table`, each of at most 63 lower-case letters, digits and underscores.
 */
export function tableName(name: string, quote: '"' | '`'): string {
  if (!/^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62})?$/.test(name)) {
    throw new RangeError(`A table of locks is named like payonce_locks or app.payonce_locks, not "${name}"`);
  }
  return name
    .split('.')
    .map((part) => quote + part + quote)
    .join('.');
}
