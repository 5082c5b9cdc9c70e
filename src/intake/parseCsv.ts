import { type CsvError, type CsvErrorCode, type Info, parse } from 'csv-parse/sync';
import { fromCsvCell } from '../platform/csv.ts';
import { type FieldError, type Problem, problem } from '../platform/problem.ts';
import { type CheckedRow, checkCsvInvoice, columns, requiredColumns } from './checkInvoice.ts';
import { unknownName } from './fieldErrors.ts';

/** The rows of a body, or why the whole body is refused. */
export type RowsOrProblem =
  | { kind: 'rows'; rows: Iterable<{ index: number; row: CheckedRow }> }
  | { kind: 'problem'; problem: Problem };

/** One record from csv-parse: its cells, or why it is unreadable. `line` is the line where it ends, from 1. */
type Row = { line: number; cells: readonly string[] } | { line: number; unreadable: string };

/**
 * Reads invoices from CSV (RFC 4180, with a header; columns in any order). An unreadable row is rejected alone,
 * unless a bad quote makes it unclear where the next row begins: then the whole text is refused. The apostrophe that an
 * export puts before what a spreadsheet would take for a formula is taken away (platform/csv.ts).
 */
export function parseCsv(text: string, maxRows: number): RowsOrProblem {
  const [header, ...rows] = readRows(text, maxRows);
  if (header === undefined)
    return refused(400, `The body is empty: expected the header ${columns.join(',')}.`);
  if ('unreadable' in header) return refused(400, `Line ${header.line}: ${header.unreadable}.`);
  const names = header.cells;
  const errors = headerErrors(names);
  if (errors.length > 0) {
    return refused(400, `The header is wrong: expected ${columns.join(',')} in any order.`, errors);
  }
  const fatal = rows.find((row) => 'unreadable' in row && row.unreadable !== strayQuote);
  if (fatal !== undefined && 'unreadable' in fatal)
    return refused(400, `Line ${fatal.line}: ${fatal.unreadable}.`);
  if (rows.length > maxRows)
    return refused(413, `Expected at most ${maxRows} rows in one body: split them over several requests.`);
  return { kind: 'rows', rows: rows.map((row, index) => ({ index, row: checkRow(row, names) })) };
}

const strayQuote =
  'a double quote inside a value: expected the whole value in quotes, with each quote in it doubled';

function readRows(text: string, maxRows: number): Row[] {
  const rows: Row[] = [];
  const onRecord = (cells: string[], { lines }: Info) => {
    const isBlank = cells.length === 1 && cells[0]?.trim() === '';
    if (!isBlank && rows.length <= maxRows + 1) rows.push({ line: lines, cells });
    return null;
  };
  const onSkip = (error: CsvError | undefined) => {
    const line = Number(error?.lines ?? 0);
    // csv-parse reports a bad line once for each of its quotes.
    if (rows.at(-1)?.line !== line) rows.push({ line, unreadable: reasonOf(error) });
    return undefined;
  };
  parse(text, {
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_record: onRecord,
    on_skip: onSkip,
  });
  return rows;
}

const reasons: Readonly<Partial<Record<CsvErrorCode, string>>> = {
  INVALID_OPENING_QUOTE: strayQuote,
  CSV_INVALID_CLOSING_QUOTE:
    'text after the closing quote of a value: expected a comma or the end of the line there',
  CSV_QUOTE_NOT_CLOSED: 'the text ends inside a quoted value: expected a closing quote',
  CSV_MAX_RECORD_SIZE: 'a row of more than 128,000 characters: expected a closing quote before that',
};

function reasonOf(error: CsvError | undefined): string {
  const reason = error === undefined ? undefined : reasons[error.code];
  return reason ?? `not CSV: ${error?.message ?? 'unreadable'}`;
}

function headerErrors(names: readonly string[]): FieldError[] {
  const missing = requiredColumns.filter((name) => !names.includes(name));
  return [
    ...names.flatMap((name, place) => {
      if (!columns.includes(name))
        return [{ field: name.slice(0, 60), error: unknownName('column', name, columns) }];
      return names.indexOf(name) < place ? [{ field: name, error: 'appears twice: expected once' }] : [];
    }),
    ...missing.map((field) => ({ field, error: 'is missing: expected a column with this name' })),
  ];
}

function checkRow(row: Row, names: readonly string[]): CheckedRow {
  if ('unreadable' in row) return { kind: 'bad', field: 'row', error: `line ${row.line}: ${row.unreadable}` };
  const { cells, line } = row;
  if (cells.length !== names.length) {
    const error = `line ${line}: expected ${names.length} columns, like the header, not ${cells.length}`;
    return { kind: 'bad', field: 'row', error };
  }
  return checkCsvInvoice(
    Object.fromEntries(names.map((name, place) => [name, fromCsvCell(cells[place] ?? '')])),
  );
}

function refused(status: number, detail: string, errors: FieldError[] = []): RowsOrProblem {
  return { kind: 'problem', problem: problem(status, detail, errors) };
}
