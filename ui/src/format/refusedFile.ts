import type { ImportViewAnswer, RefusedRow } from '../../../src/ops/answers/importAnswers.ts';
import { csvLineOf } from './splitFile.ts';

type File = Readonly<Pick<ImportViewAnswer, 'separator'>> & { columns: readonly string[] };

/**
 * A file with the refused rows as they were sent, each with its error: it can be mended and imported again. Rows that were too
 * long to be kept have their error only. Pure.
 */
export function refusedFile({ columns, separator }: File, refused: readonly RefusedRow[]): string {
  if (columns.length === 0) {
    const items = refused.map(({ row, ...rest }) => ({ ...fieldsIn(row), error: errorOf(rest) }));
    return JSON.stringify(items, null, 2);
  }
  const lines = refused.map(({ row, ...rest }) => {
    const cells = Array.isArray(row) ? row.map(String) : [];
    const padded = [...cells, ...columns.slice(cells.length).map(() => '')];
    return csvLineOf([...padded, errorOf(rest)], separator);
  });
  // Excel takes a file without this mark for one in the encoding of Windows.
  return `\uFEFF${csvLineOf([...columns, 'error'], separator)}${lines.join('')}`;
}

/** The id in a refused row. Pure. */
export function idIn({ columns }: Pick<File, 'columns'>, { row }: Pick<RefusedRow, 'row'>): string {
  const id = Array.isArray(row) ? row[columns.indexOf('id')] : fieldsIn(row).id;
  return typeof id === 'string' ? id : '';
}

function errorOf({ field, error }: Pick<RefusedRow, 'field' | 'error'>): string {
  return `${field}: ${error}`;
}

function fieldsIn(row: unknown): Record<string, unknown> {
  return typeof row === 'object' && row !== null && !Array.isArray(row) ? { ...row } : {};
}
