/** A part of a file that can be imported by itself. */
export interface Part {
  content: string;
  rows: number;
  /** Rows of the file before its first. */
  before: number;
}

export interface SplitFile {
  type: 'text/csv' | 'application/json';
  rows: number;
  parts: readonly Part[];
}

/**
 * Splits a file into parts of some rows each, so that an import shows how far it has come. Each part of a CSV file gets its
 * header. Throws an Error with a plain message if the file is neither a CSV nor a JSON array. Pure.
 */
export function splitFile(text: string, rowsPerPart: number): SplitFile {
  const trimmed = text.trimStart();
  if (trimmed === '') throw new Error('The file is empty.');
  return trimmed.startsWith('[') || trimmed.startsWith('{')
    ? splitJson(text, rowsPerPart)
    : splitCsv(text, rowsPerPart);
}

function splitJson(text: string, rowsPerPart: number): SplitFile {
  const value = parsed(text);
  if (!Array.isArray(value)) throw new Error('The file is JSON, but not an array of invoices.');
  const items: unknown[] = value;
  const parts = chunks(items, rowsPerPart).map((part, index) => ({
    content: JSON.stringify(part),
    rows: part.length,
    before: index * rowsPerPart,
  }));
  return { type: 'application/json', rows: items.length, parts };
}

function splitCsv(text: string, rowsPerPart: number): SplitFile {
  const [header = '', ...rows] = recordsOf(text.replace(/^\uFEFF/, ''));
  const parts = chunks(rows, rowsPerPart).map((part, index) => ({
    content: header + part.join(''),
    rows: part.length,
    before: index * rowsPerPart,
  }));
  return { type: 'text/csv', rows: rows.length, parts };
}

/** The records of a CSV text with their line ends. A line end between quotes belongs to its record. */
function recordsOf(text: string): string[] {
  const records: string[] = [];
  let begin = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    if (quoted || (char !== '\n' && char !== '\r')) continue;
    if (char === '\r' && text[at + 1] === '\n') at++;
    records.push(text.slice(begin, at + 1));
    begin = at + 1;
  }
  if (begin < text.length) records.push(text.slice(begin));
  return records.filter((record, index) => index === 0 || record.trim() !== '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`The file is not JSON: ${cause instanceof Error ? cause.message : ''}`, { cause });
  }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
