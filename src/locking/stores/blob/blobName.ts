import { createHash } from 'node:crypto';
import { checkKey } from '../../lockRecord.ts';

const longestName = 1024;
const mostSegments = 50;
const readablePart = 200;

/**
 * The blob name of a lock. Different keys get different names:
 * - a plain key is its own name (`jobs/process-invoices/3`);
 * - other characters are escaped with `=`;
 * - a name that would be too long or too deep becomes a readable beginning and a hash.
 *
 * In all three the part before the first slash stays a folder of its own.
 *
 * Blob names have 1 to 1,024 characters and at most 254 segments, and must not end in a dot or slash
 * (https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata).
 *
 * @throws RangeError for an empty key or one longer than 1,024 characters (UTF-16 code units).
 */
export function blobName(key: string): string {
  checkKey(key);
  const escaped = escapeKey(key);
  if (escaped.length <= longestName && escaped.split('/').length <= mostSegments) return escaped;
  // Escaped keys never contain `==`, so a hashed name cannot collide with one.
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex');
  const [folder = '', ...rest] = key.slice(0, readablePart).split('/');
  const beginning = rest.length === 0 ? folder : `${folder}/${rest.join('-')}`;
  const readable = escapeKey(beginning)
    .slice(0, readablePart)
    .replace(/=[0-9a-fu]*$/, '');
  return `${readable}==${hash}`;
}

/**
 * The common beginning of the blob names of all locks whose keys begin with `prefix`. It covers `prefix` only
 * up to the first slash, because hashed names keep no more of their keys. Other names may begin with it too:
 * filter by key.
 */
export function commonNamePrefix(prefix: string): string {
  const [folder = ''] = prefix.split('/', 1);
  // Whether a trailing dot is escaped depends on what follows it.
  return escapeKey(`${folder.replace(/\.+$/, '')}-`)
    .slice(0, -1)
    .slice(0, readablePart / 2);
}

/** Works on code units, so that lone surrogates and different compositions of a letter stay distinct. */
function escapeKey(key: string): string {
  let name = '';
  for (let i = 0; i < key.length; i++) {
    const char = key.charAt(i);
    name += isPlain(char, key.charAt(i - 1), key.charAt(i + 1)) ? char : escapeUnit(char.charCodeAt(0));
  }
  return name;
}

function isPlain(char: string, before: string, after: string): boolean {
  // URL libraries fold `.`, `..` and doubled slashes: no segment begins or ends in a dot, and none is empty.
  if (char === '.') return before !== '' && before !== '/' && after !== '' && after !== '/';
  if (char === '/') return before !== '' && before !== '/' && after !== '';
  return /[A-Za-z0-9_-]/.test(char);
}

function escapeUnit(unit: number): string {
  return unit < 0x100 ? `=${unit.toString(16).padStart(2, '0')}` : `=u${unit.toString(16).padStart(4, '0')}`;
}
