const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const beyondAscii = /[\x80-\xff]/;

/** The text of bytes that are given as latin1. Undefined if they are not UTF-8. */
export function fromLatin1(bytes: string): string | undefined {
  if (!beyondAscii.test(bytes)) return bytes;
  try {
    return decoder.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** The byte order mark of UTF-8, as latin1. */
export const byteOrderMark = '\xef\xbb\xbf';
