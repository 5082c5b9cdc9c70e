/** Text of a file; `notUtf8` if it is in another encoding, with the text that it has if that is the one of Windows. */
export type FileText = { kind: 'text'; text: string } | { kind: 'notUtf8'; asWindows: string };

/** Beginnings of workbooks: those of today are ZIP archives. */
const workbooks = ['PK\u0003\u0004', '\u00D0\u00CF\u0011\u00E0'];

/** Reads the text of a file. Throws an Error with a plain message if it is a workbook. Pure. */
export function fileText(bytes: Uint8Array): FileText {
  if (workbooks.includes(String.fromCharCode(...bytes.subarray(0, 4))))
    throw new Error('This is an Excel workbook. Save it as "CSV UTF-8" and choose that file.');
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { kind: 'notUtf8', asWindows: new TextDecoder('windows-1252').decode(bytes) };
  }
}

/** The first words of a text that are not plain ASCII, by which a person recognizes the right encoding. Pure. */
export function tellingWords(text: string): string {
  const words = text.match(/[^\s,;"]*[^\s,;"\0-\x7f][^\s,;"]*/g) ?? [];
  return [...new Set(words)].slice(0, 5).join(', ');
}
