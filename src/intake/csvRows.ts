import { fromCsvCell } from '../platform/csv.ts';
import { type FieldError, problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';
import { checkCsvInvoice, columns, requiredColumns } from './checkInvoice.ts';
import { badCsv, type CsvRecord, csvRecords } from './csvRecords.ts';
import { unknownName } from './fieldErrors.ts';
import type { ImportLimits, ReadRow, RowReader, Stop } from './rowReader.ts';
import { fromLatin1 } from './utf8.ts';

/** Columns that are wrong and named in one answer. */
const mostErrors = 20;

/**
 * Reads invoices from CSV with a header; columns in any order. The apostrophe that an export puts before what a spreadsheet
 * would take for a formula is taken away (platform/csv.ts).
 */
export function csvRows(limits: Pick<ImportLimits, 'rowBytes'>): RowReader {
  const records = csvRecords(limits.rowBytes);
  let header: string[] | undefined;

  return {
    push: (part) => rowsOf(records.push(part)),
    *end() {
      yield* rowsOf(records.end());
      if (header === undefined) yield refuse(`The body is empty: expected the header ${columns.join(',')}.`);
    },
  };

  function* rowsOf(found: Iterable<CsvRecord>): Generator<ReadRow> {
    for (const record of found) {
      const isUnclosed = 'unreadable' in record && record.unreadable === badCsv.notClosed;
      if (isUnclosed || (header === undefined && 'unreadable' in record)) {
        header ??= [];
        yield refuse(`Line ${record.line}: ${record.unreadable}.`);
      } else if ('unreadable' in record) {
        yield { kind: 'bad', field: 'row', error: `line ${record.line}: ${record.unreadable}` };
      } else if (header === undefined) {
        header = record.cells.map((cell) => fromLatin1(cell) ?? cell);
        const errors = headerErrors(header);
        const expected = `The header is wrong: expected ${columns.join(',')} in any order.`;
        if (errors.length > 0) yield refuse(expected, errors);
      } else yield checkCells(record.cells, record.line, header);
    }
  }
}

function headerErrors(names: readonly string[]): FieldError[] {
  const missing = requiredColumns.filter((name) => !names.includes(name));
  const errors = [
    ...wrongColumns(names).slice(0, mostErrors + 1),
    ...missing.map((field) => ({ field, error: 'is missing: expected a column with this name' })),
  ];
  if (errors.length <= mostErrors) return errors;
  return [...errors.slice(0, mostErrors), { field: 'header', error: `has more errors than these` }];
}

function wrongColumns(names: readonly string[]): FieldError[] {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const name of names) {
    if (!columns.includes(name)) {
      errors.push({ field: name.slice(0, 60), error: unknownName('column', columns) });
    } else if (seen.has(name)) errors.push({ field: name, error: 'appears twice: expected once' });
    seen.add(name);
    if (errors.length > mostErrors) break;
  }
  return errors;
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

function refuse(detail: string, errors: FieldError[] = []): Stop {
  return { kind: 'stop', problem: problem(400, detail, errors) };
}
