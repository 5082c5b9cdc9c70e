import { z } from 'zod';
import { amountShapeError, parseAmount } from '../invoice/money.ts';
import { fromCsvCell } from '../platform/csv.ts';
import { type FieldError, problem } from '../platform/problem.ts';
import { type CheckedRow, checkedRow, importedFields, limitError, refusing } from './checkInvoice.ts';
import { expecting, unknownName } from './fieldErrors.ts';
import {
  type FoundRow,
  fromLatin1,
  type ImportLimits,
  refusedRow,
  type Stop,
  sliceBytes,
  tooLongRow,
} from './readRows.ts';

/** An invoice as a CSV row: `amount` is decimal text, and an empty cell counts as missing. */
const csvSchema = z
  .strictObject({
    ...importedFields,
    amount: z.string({ error: expecting('an amount, like 19.99') }).check(refusing(amountShapeError)),
  })
  .transform(({ amount, ...rest }, context) => {
    const parsed = parseAmount(amount, rest.currency);
    const amountMinor = parsed.kind === 'bad' ? 0 : parsed.amountMinor;
    const zero = amountMinor > 0 ? undefined : 'expected more than 0';
    const error = parsed.kind === 'bad' ? parsed.error : (zero ?? limitError(amountMinor, rest.currency));
    if (error !== undefined) context.addIssue({ code: 'custom', path: ['amount'], message: error });
    return { ...rest, amountMinor };
  });

export const requiredColumns = ['id', 'customerId', 'amount', 'currency', 'dueAt'] as const;
export const columns: readonly string[] = [...requiredColumns, 'paymentMethod', 'description'];

/** One record: its cells as latin1, or why they cannot be told apart. `line` is where it begins, counted from 1. */
export type CsvRecord = { line: number } & ({ cells: string[] } | { unreadable: string });

const badCsv = {
  strayQuote:
    'a double quote inside a value: expected the whole value in quotes, with each quote in it doubled',
  afterQuote: 'text after the closing quote of a value: expected a comma or the end of the line there',
  notClosed: 'the text ends inside a quoted value: expected a closing quote',
} as const;

const code = { lineFeed: 10, return: 13, quote: 34, comma: 44 } as const;
const afterQuoted: readonly unknown[] = [code.comma, code.lineFeed, code.return, undefined];

/** Columns that are wrong and named in one answer. */
const mostErrors = 20;

/** Reads invoices from CSV with a header, columns in any order, without the apostrophes of an export (platform/csv.ts). */
export function* csvRows(body: Buffer, limits: Pick<ImportLimits, 'rowBytes'>): Generator<FoundRow> {
  let header: string[] | undefined;
  for (const record of csvRecords(body, limits.rowBytes)) {
    if (record === undefined) yield undefined;
    else if ('unreadable' in record) {
      const { line, unreadable } = record;
      if (unreadable === badCsv.notClosed || header === undefined)
        return yield refuse(`Line ${line}: ${unreadable}.`);
      yield refusedRow(`line ${line}: ${unreadable}`);
    } else if (header === undefined) {
      header = record.cells.map((cell) => fromLatin1(cell) ?? cell);
      const errors = headerErrors(header);
      const expected = `The header is wrong: expected ${columns.join(',')} in any order.`;
      if (errors.length > 0) return yield refuse(expected, errors);
    } else yield checkCells(record.cells, record.line, header);
  }
  if (header === undefined) yield refuse(`The body is empty: expected the header ${columns.join(',')}.`);
}

/**
 * Splits CSV (RFC 4180) into records; undefined comes between two slices. CRLF, LF and CR all end a line. A quote at the beginning of
 * a cell opens a value that runs to its closing quote, also in a record with a fault: text inside quotes is never taken for a row.
 *
 * csv-parse (7.0.3) cannot be bounded: above `max_record_size` it drops the rest of the chunk, and stray quotes take quadratic time.
 */
export function* csvRecords(body: Buffer, rowBytes: number): Generator<CsvRecord | undefined> {
  let nextLine = 1;
  let paused = 0;
  for (let at = 0; at < body.length; at++) {
    const [from, line] = [at, nextLine];
    let cell = at;
    let quoted = false;
    let fault: string | undefined;
    for (; at < body.length; at++) {
      if (at - paused >= sliceBytes) {
        paused = at;
        yield undefined;
      }
      const byte = body[at];
      const isLineEnd = byte === code.lineFeed || byte === code.return;
      if (isLineEnd && (byte === code.lineFeed || body[at + 1] !== code.lineFeed)) nextLine++;
      if (quoted) {
        if (byte !== code.quote) continue;
        if (body[at + 1] === code.quote) at++;
        else {
          quoted = false;
          if (!afterQuoted.includes(body[at + 1])) fault ??= badCsv.afterQuote;
        }
      } else if (byte === code.quote) {
        quoted = at === cell;
        if (!quoted) fault ??= badCsv.strayQuote;
      } else if (byte === code.comma) cell = at + 1;
      else if (isLineEnd) break;
    }
    if (quoted) yield { line, unreadable: badCsv.notClosed };
    else if (at - from > rowBytes) yield { line, unreadable: tooLongRow({ rowBytes }) };
    else if (fault !== undefined) yield { line, unreadable: fault };
    else if (at > from) {
      const cells = cellsOf(body.toString('latin1', from, at));
      if (cells.length > 1 || cells[0]?.trim() !== '') yield { line, cells };
    }
    if (body[at] === code.return && body[at + 1] === code.lineFeed) {
      at++;
      nextLine++;
    }
  }
}

function cellsOf(record: string): string[] {
  if (!record.includes('"')) return record.split(',');
  const found = `,${record}`.matchAll(/,(?:"([^"]*(?:""[^"]*)*)"|([^,]*))/g);
  return Array.from(found, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}

function headerErrors(names: readonly string[]): FieldError[] {
  const seen = new Set<string>();
  const wrong = names.flatMap((name): FieldError[] => {
    if (!columns.includes(name)) return [{ field: name.slice(0, 60), error: unknownName('column', columns) }];
    if (seen.has(name)) return [{ field: name, error: 'appears twice: expected once' }];
    seen.add(name);
    return [];
  });
  const missing = requiredColumns
    .filter((name) => !names.includes(name))
    .map((field) => ({ field, error: 'is missing: expected a column with this name' }));
  return [...wrong, ...missing].slice(0, mostErrors);
}

function checkCells(cells: readonly string[], line: number, names: readonly string[]): CheckedRow {
  if (cells.length !== names.length) {
    const error = `line ${line}: expected ${names.length} columns, like the header, not ${cells.length}`;
    return { kind: 'bad', field: 'row', error };
  }
  const given: Record<string, string> = {};
  for (const [place, name] of names.entries()) {
    const cell = fromLatin1(cells[place] ?? '');
    if (cell === undefined)
      return { kind: 'bad', field: name, error: `line ${line}: expected text in UTF-8` };
    given[name] = fromCsvCell(cell);
  }
  return checkCsvInvoice(given);
}

export function checkCsvInvoice(cells: Readonly<Record<string, string>>): CheckedRow {
  const given = Object.fromEntries(Object.entries(cells).filter(([, cell]) => cell !== ''));
  return checkedRow(csvSchema.safeParse(given), given, columns);
}

function refuse(detail: string, errors: FieldError[] = []): Stop {
  return { kind: 'stop', problem: problem(400, detail, errors) };
}
