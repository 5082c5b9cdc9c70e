import { createHash } from 'node:crypto';

const longestName = 1024;
const mostSegments = 50;
const readablePart = 200;

/**
 * The blob name of a lock, different for different keys: the key itself where it is plain (`jobs/process-invoices/3`), the
 * key with `=` escapes where it has other characters, and a readable beginning with a hash where that would be too long.
 *
 * Blob names have 1 to 1,024 characters and at most 254 segments, and must not end in a dot or slash
 * (https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
 *
 * @throws RangeError for an empty key or one of more than 1,024 characters (UTF-16 code units).
 */
export function lockName(key: string): string {
  if (key.length === 0 || key.length > 1024) {
    throw new RangeError(`A lock key has 1 to 1,024 characters, not ${key.length}`);
  }
  const escaped = escapeKey(key);
  if (escaped.length <= longestName && escaped.split('/').length <= mostSegments) return escaped;
  // No escaped key contains `==`, so that no hashed name meets one.
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex');
  const beginning = escapeKey(key.slice(0, readablePart).replaceAll('/', '-')).slice(0, readablePart);
  const readable = beginning.replace(/=[0-9a-fu]*$/, '');
  return `${readable}==${hash}`;
}

/** By code units, so that broken surrogates and differently composed letters stay apart. */
function escapeKey(key: string): string {
  let name = '';
  for (let i = 0; i < key.length; i++) {
    const char = key.charAt(i);
    name += isPlain(char, key.charAt(i - 1), key.charAt(i + 1)) ? char : escapeUnit(char.charCodeAt(0));
  }
  return name;
}

function isPlain(char: string, before: string, after: string): boolean {
  // A URL library folds `.`, `..` and doubled slashes: a segment neither begins nor ends in a dot, and none is empty.
  if (char === '.') return before !== '' && before !== '/' && after !== '' && after !== '/';
  if (char === '/') return before !== '' && before !== '/' && after !== '';
  return /[A-Za-z0-9_-]/.test(char);
}

function escapeUnit(unit: number): string {
  return unit < 0x100 ? `=${unit.toString(16).padStart(2, '0')}` : `=u${unit.toString(16).padStart(4, '0')}`;
}
