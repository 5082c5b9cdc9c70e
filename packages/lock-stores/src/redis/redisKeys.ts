import { checkKey } from '@payonce/leases';
import type { LockKeys } from './redisScripts.ts';

/** Braces would end the hash tag, and UTF-8 has no lone surrogates: either becomes `%` and its code unit. */
const unsafe = /[%{}]|\p{Cs}/gu;

const escaped = (text: string) =>
  text.replaceAll(unsafe, (char) => `%${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The place of a lock in Redis. All that stands in the braces is the hash tag, so both keys are in the same slot of a cluster
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 *
 * @throws RangeError for an empty key, or one longer than 1,024 characters.
 */
export function redisKeys(prefix: string, key: string): LockKeys {
  checkKey(key);
  const record = `${prefix}{${escaped(key)}}`;
  return { record, lease: `${record}:lease` };
}

/** The lock whose record has this key; undefined if it is another key. */
export function keyOfRecord(prefix: string, record: string): string | undefined {
  if (!record.startsWith(`${prefix}{`) || !record.endsWith('}')) return undefined;
  return record
    .slice(prefix.length + 1, -1)
    .replaceAll(/%([0-9a-f]{4})/g, (_, unit: string) => String.fromCharCode(Number.parseInt(unit, 16)));
}

/** A pattern of SCAN for the records and leases of all locks whose keys begin with `beginning`. */
export function recordPattern(prefix: string, beginning: string): string {
  return `${literally(`${prefix}{${escaped(beginning)}`)}*}*`;
}

/** A pattern of SCAN for this very text. */
export function literally(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, '\\$&');
}
