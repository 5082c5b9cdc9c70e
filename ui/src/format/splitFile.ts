import { parseAmount } from '../../../src/invoice/money.ts';

/** A part of a file that can be imported by itself. */
export interface Part {
  content: string;
  /** Number of each of its rows in the file: as a spreadsheet counts, where the header is row 1, or of a JSON item from 1. */
  numbers: readonly number[];
}

type Amounts = readonly { amountMinor: number; currency: string }[];

/** A file as it will be imported, and what it comes to. */
export interface SplitFile {
  type: 'text/csv' | 'application/json';
  rows: number;
  parts: readonly Part[];
  amounts: Amounts;
  /** Those of the rows that are due already. */
  due: Amounts;
  /** Rows without an amount and a currency that can be read. */
  unclear: number;
  /** Due dates without a time, which are taken as midnight UTC. */
  plainDates: number;
  /** Names of the columns that are sent, in their order; none of JSON. */
  columns: readonly string[];
  /** Between the values of the file. */
  separator: string;
}

/**
 * Splits a file into parts of some rows each, so that an import shows how far it has come. Each part of a CSV file gets its
 * header. Values between semicolons are sent between commas, rows without any value are left out, and so is a column
 * `error`, which a file of refused rows has. A JSON item is sent as it is written, without a field `error`. Throws an Error with
 * a plain message if the file is neither a CSV nor a JSON array. `now` is in milliseconds. Pure.
 */
export function splitFile(text: string, rowsPerPart: number, now: number): SplitFile {
  const trimmed = text.trimStart();
  if (trimmed === '') throw new Error('The file is empty.');
  return trimmed.startsWith('[') || trimmed.startsWith('{')
    ? splitJson(text, rowsPerPart, now)
    : splitCsv(text, rowsPerPart, now);
}

interface Row {
  number: number;
  /** As it is sent. */
  content: string;
  /** Absent: it cannot be read. */
  amount: { amountMinor: number; currency: string } | undefined;
  dueAt: string;
}

function joined(
  rows: readonly Row[],
  rowsPerPart: number,
  now: number,
  contentOf: (rows: readonly Row[]) => string,
) {
  const clear = rows.flatMap(({ amount, dueAt }) => (amount === undefined ? [] : [{ ...amount, dueAt }]));
  return {
    rows: rows.length,
    parts: chunks(rows, rowsPerPart).map((part) => ({
      content: contentOf(part),
      numbers: part.map(({ number }) => number),
    })),
    amounts: clear,
    due: clear.filter(({ dueAt }) => Date.parse(dueAt) <= now),
    unclear: rows.length - clear.length,
  };
}

function splitJson(text: string, rowsPerPart: number, now: number): SplitFile {
  const value = parsed(text);
  if (!Array.isArray(value)) throw new Error('The file is JSON, but not an array of invoices.');
  const sources = sourcesIn(text);
  const rows = value.map((item: unknown, index) => jsonRow(item, sources[index] ?? '', index + 1));
  return {
    type: 'application/json',
    ...joined(rows, rowsPerPart, now, (part) => `[${part.map(({ content }) => content).join(',')}]`),
    plainDates: 0,
    columns: [],
    separator: ',',
  };
}

/**
 * An item as its source, not from its value: the app refuses an amount of `1999.00`, which may mean 1,999.00 EUR, and a field that
 * is there twice, and JSON.parse hides both.
 */
function jsonRow(item: unknown, source: string, number: number): Row {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    return { number, content: source, amount: undefined, dueAt: '' };
  const { currency, dueAt }: { currency?: unknown; dueAt?: unknown } = item;
  const members = sourcesIn(source).map(memberOf);
  const [amount, another] = members.filter(({ name }) => name === 'amountMinor');
  const isWhole = another === undefined && /^-?\d+$/.test(amount?.value ?? '');
  const sent = members.filter(({ name }) => name !== 'error');
  return {
    number,
    content: sent.length === members.length ? source : `{${sent.map((member) => member.source).join(',')}}`,
    amount:
      isWhole && typeof currency === 'string' ? { amountMinor: Number(amount?.value), currency } : undefined,
    dueAt: typeof dueAt === 'string' ? dueAt : '',
  };
}

/** Sources of the elements of an array, or of the members of an object. Only for text that JSON.parse accepts. */
function sourcesIn(json: string): string[] {
  const sources: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (char === '"') at = stringEnd(json, at);
    else if (char === '[' || char === '{') {
      if (++depth === 1) from = at + 1;
    } else if (char === ']' || char === '}') {
      if (--depth === 0) sources.push(json.slice(from, at).trim());
    } else if (char === ',' && depth === 1) {
      sources.push(json.slice(from, at).trim());
      from = at + 1;
    }
  }
  return sources[0] === '' ? [] : sources;
}

function memberOf(source: string): { name: unknown; value: string; source: string } {
  const end = stringEnd(source, 0) + 1;
  // A name may be written with escapes.
  const name: unknown = JSON.parse(source.slice(0, end));
  return { name, value: source.slice(source.indexOf(':', end) + 1).trim(), source };
}

/** Position of the closing quote of the string that opens at `at`. */
function stringEnd(json: string, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end;
}

const plainDate = /^\d{4}-\d\d-\d\d$/;

function splitCsv(text: string, rowsPerPart: number, now: number): SplitFile {
  const [first = '', ...records] = recordsOf(text.replace(/^\uFEFF/, ''));
  const separator = first.includes(';') && !first.includes(',') ? ';' : ',';
  const columns = cellsOf(first, separator);
  const [amountAt, currencyAt, dueAt, errorAt] = ['amount', 'currency', 'dueAt', 'error'].map((name) =>
    columns.indexOf(name),
  ) as [number, number, number, number];
  const isRewritten = separator !== ',' || errorAt !== -1;
  const sent = (cells: readonly string[]) => csvLineOf(cells.toSpliced(errorAt, errorAt === -1 ? 0 : 1), ',');
  let plainDates = 0;
  const rows = records.flatMap((record, index): Row[] => {
    if (/^[\s,;]*$/.test(record)) return [];
    const number = index + 2;
    const cells = cellsOf(record, separator);
    const isPlain = plainDate.test(cells[dueAt] ?? '');
    if (isPlain) {
      plainDates++;
      cells[dueAt] = `${cells[dueAt]}T00:00:00Z`;
    }
    const currency = cells[currencyAt] ?? '';
    const amount = parseAmount(cells[amountAt] ?? '', currency);
    return [
      {
        number,
        content: isRewritten || isPlain ? sent(cells) : record,
        amount: amount.kind === 'bad' ? undefined : { amountMinor: amount.amountMinor, currency },
        dueAt: cells[dueAt] ?? '',
      },
    ];
  });
  const header = isRewritten ? sent(columns) : first;
  return {
    type: 'text/csv',
    ...joined(rows, rowsPerPart, now, (part) => header + part.map(({ content }) => content).join('')),
    plainDates,
    columns: errorAt === -1 ? columns : columns.toSpliced(errorAt, 1),
    separator,
  };
}

/** The values of a record. */
function cellsOf(record: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  const text = record.replace(/\r?\n$|\r$/, '');
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (quoted && char === '"' && text[at + 1] === '"') {
      cell += char;
      at++;
    } else if (char === '"' && (quoted || cell === '')) quoted = !quoted;
    else if (char === separator && !quoted) {
      cells.push(cell);
      cell = '';
    } else cell += char;
  }
  return [...cells, cell];
}

/** A line of these values as they are: it is read by who wrote them, or by the app, which takes an export's marks away. */
export function csvLineOf(cells: readonly string[], separator: string): string {
  const quoted = cells.map((cell) =>
    /["\r\n]|^\s|\s$/.test(cell) || cell.includes(separator) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  return `${quoted.join(separator)}\r\n`;
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
  return records;
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
