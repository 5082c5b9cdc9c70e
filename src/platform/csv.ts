/**
 * What a spreadsheet takes for the beginning of a formula (https://owasp.org/www-community/attacks/CSV_Injection), after
 * any number of the apostrophes that this file puts before it.
 */
const formula = /^'*[=+\-@\t\r\n＝＋－＠]/;
const escaped = /^'+[=+\-@\t\r\n＝＋－＠]/;

/** Media type of what `csvLine` writes: UTF-8 without a byte order mark, the first line names the columns (RFC 4180). */
export const csvType = 'text/csv; charset=utf-8; header=present';

/** A line of CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csvLine(cells: readonly (string | number | bigint)[]): string {
  return `${cells.map((cell) => quoted(typeof cell === 'string' ? asText(cell) : `${cell}`)).join(',')}\r\n`;
}

/** The cell as `csvLine` was given it. */
export function fromCsvCell(cell: string): string {
  return escaped.test(cell) ? cell.slice(1) : cell;
}

/** Text that has apostrophes there already gets one more, or reading it back would take one of its own. */
function asText(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell;
}

function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
