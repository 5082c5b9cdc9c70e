/**
 * The beginning of a formula, as spreadsheets see it (https://owasp.org/www-community/attacks/CSV_Injection), after any number
 * of the apostrophes that this file puts before it: at the beginning of a cell, and behind what separates cells elsewhere,
 * because Excel splits at semicolons where the comma is the decimal sign, whatever the quotes say.
 */
const formula = /(?<=^|[;\t\r\n])('*)(?=[=+\-@\t\r\n＝＋－＠])/g;
const escaped = /(?<=^|[;\t\r\n])'('*)(?=[=+\-@\t\r\n＝＋－＠])/g;

/** Media type of what `csvLine` writes: UTF-8 without a byte order mark, the first line names the columns (RFC 4180). */
export const csvType = 'text/csv; charset=utf-8; header=present';

/** A line of CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csvLine(cells: readonly (string | number | bigint)[]): string {
  return `${cells.map((cell) => quoted(typeof cell === 'string' ? asText(cell) : `${cell}`)).join(',')}\r\n`;
}

/** The cell as `csvLine` was given it. */
export function fromCsvCell(cell: string): string {
  return cell.replaceAll(escaped, '$1');
}

/** Text that has apostrophes there already gets one more, or reading it back would take one of its own. */
function asText(cell: string): string {
  return cell.replaceAll(formula, "'$1");
}

function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
