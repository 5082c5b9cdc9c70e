import { createHash } from 'node:crypto';

const longestName = 1024;
const mostSegments = 50;
const readablePart = 200;

/**
 * The blob name of a lock, different for different keys: the key itself where it is plain (`jobs/process-invoices/3`), the
 * key with `=` escapes where it has other characters, and a readable beginning with a hash where that would be too long.
 * The part before the first slash is a folder of its own in all three.
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
  const [folder = '', ...rest] = key.slice(0, readablePart).split('/');
  const beginning = rest.length === 0 ? folder : `${folder}/${rest.join('-')}`;
  const readable = escapeKey(beginning)
    .slice(0, readablePart)
    .replace(/=[0-9a-fu]*$/, '');
  return `${readable}==${hash}`;
}

/**
 * What the blob names of all locks begin with whose keys begin with `prefix`, as far as its first slash: hashed names keep
 * no more of their key. Other names may begin with it too.
 */
export function commonNamePrefix(prefix: string): string {
  const [folder = ''] = prefix.split('/', 1);
  // How a dot at the end is written depends on what follows it.
  return escapeKey(`${folder.replace(/\.+$/, '')}-`)
    .slice(0, -1)
    .slice(0, readablePart / 2);
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
