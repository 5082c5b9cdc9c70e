import { MIMEType } from 'node:util';
import type { InvoiceContent } from '../invoice/invoice.ts';
import { sameContent } from '../invoice/sameContent.ts';
import type { AddOutcome, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { type CheckedRow, checkJsonInvoice, type Rejection } from './checkInvoice.ts';
import { locateJsonError } from './locateJsonError.ts';
import { parseCsv, type RowsOrProblem } from './parseCsv.ts';

/**
 * Time for storing the rows of one import, in milliseconds. Azure ends an HTTP request after 230 s
 * (https://learn.microsoft.com/azure/azure-functions/functions-scale#timeout); a last try and the answer need some of it.
 */
const storeMs = 180_000;

export interface ImportResult {
  created: number;
  /** Rows that are stored already, with the same content. */
  duplicates: number;
  rejected: Rejection[];
  /** Why good rows were rejected: the last error of the store. */
  failure?: unknown;
}

/**
 * Stores new invoices. A row that is stored already with the same content is a duplicate; with other content it is
 * rejected, because an invoice never changes. A row that the store gave no clear answer for is rejected too, and its error
 * says to send it again: it counts as a duplicate then if it was stored after all.
 */
export async function importInvoices(
  invoices: Pick<InvoiceStore, 'add'>,
  rows: readonly ParsedRow[],
  by: string,
): Promise<ImportResult> {
  const contents = rows.map(({ invoice }) => invoice);
  const { outcomes, ...rest } = await invoices.add(contents, { by, withinMs: storeMs });
  const result: ImportResult = { created: 0, duplicates: 0, rejected: [], ...rest };
  for (const { index, invoice } of rows) {
    const outcome = outcomes.get(invoice.id) ?? 'notStored';
    if (outcome === 'created') result.created++;
    else if (outcome === 'duplicate') result.duplicates++;
    else result.rejected.push({ index, field: 'id', error: `"${invoice.id}" ${whyRejected[outcome]}` });
  }
  return result;
}

const whyRejected: Record<Exclude<AddOutcome, 'created' | 'duplicate'>, string> = {
  otherContent: 'is stored already with other content',
  idTaken: 'is the id of something else here',
  notStored: 'has not been stored: send it again',
  unclear: 'may have been stored, which is unclear: send it again',
};

/** A valid row. `index` counts the rows of the body from 0. */
export interface ParsedRow {
  index: number;
  invoice: InvoiceContent;
}

/** The rows of a body, or why the whole body is refused. Every row is in `rows`, in `rejected` or a duplicate. */
export type ParsedInvoices =
  | { kind: 'invoices'; rows: ParsedRow[]; duplicates: number; rejected: Rejection[] }
  | { kind: 'problem'; problem: Problem };

/**
 * Limits of one body. 10 MB of typical CSV rows (70 bytes) stay below them. The rows of a body are stored within one
 * request, which Azure ends after 230 s. Locally 100,000 rows take 1.5 s. A serverless Cosmos DB (5,000 RU/s, some 8
 * RU per row) stores about that many in three minutes. Rows that could not be stored in time are rejected by name.
 */
export const bodyLimits = { bytes: 32 * 1024 * 1024, rows: 150_000 } as const;

const parsers = new Map([
  ['application/json', parseJson],
  ['text/csv', parseCsv],
]);

/**
 * Reads invoices from a request body. A row that repeats an earlier one is a duplicate. A row with the id of an
 * earlier one but other content is rejected, because an invoice never changes.
 *
 * @param body UTF-8, with or without a byte order mark
 * @param contentType the header's value: `application/json` (an array) or `text/csv` (with a header row)
 */
export function parseInvoices(
  body: Uint8Array | string,
  contentType: string | null | undefined,
  limits: { bytes: number; rows: number } = bodyLimits,
): ParsedInvoices {
  const parse = parsers.get(mediaType(contentType));
  if (parse === undefined) {
    const given = contentType ? `"${contentType.slice(0, 100)}"` : 'none';
    return refused(415, `Expected a content type of application/json or text/csv, in UTF-8, not ${given}.`);
  }
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  if (size > limits.bytes) {
    return refused(
      413,
      `Expected at most ${limits.bytes} bytes in one body, not ${size}: split it over several requests.`,
    );
  }
  const text = decode(body);
  if (text === undefined) return refused(400, 'The body is not UTF-8 text.');
  const parsed = parse(text, limits.rows);
  return parsed.kind === 'problem' ? parsed : sortOut(parsed.rows);
}

function sortOut(checked: Iterable<{ index: number; row: CheckedRow }>): ParsedInvoices {
  const first = new Map<string, ParsedRow>();
  const rejected: Rejection[] = [];
  let duplicates = 0;
  for (const { index, row } of checked) {
    if (row.kind === 'bad') {
      rejected.push({ index, field: row.field, error: row.error });
      continue;
    }
    const { invoice } = row;
    const earlier = first.get(invoice.id);
    if (earlier === undefined) first.set(invoice.id, { index, invoice });
    else if (sameContent(earlier.invoice, invoice)) duplicates++;
    else {
      const error = `"${invoice.id}" repeats the id of row ${earlier.index} with other content`;
      rejected.push({ index, field: 'id', error });
    }
  }
  return { kind: 'invoices', rows: [...first.values()], duplicates, rejected };
}

/** Type and subtype in lower case. Empty if there is none, or if the character set is not UTF-8. */
function mediaType(contentType: string | null | undefined): string {
  try {
    const { essence, params } = new MIMEType(contentType ?? '');
    return ['utf-8', 'utf8', 'us-ascii'].includes(params.get('charset')?.toLowerCase() ?? 'utf-8')
      ? essence
      : '';
  } catch {
    return '';
  }
}

/** The text without its byte order mark. Undefined if the bytes are not UTF-8. */
function decode(body: Uint8Array | string): string | undefined {
  if (typeof body === 'string') return body.replace(/^\ufeff/, '');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function refused(status: number, detail: string): Extract<ParsedInvoices, { kind: 'problem' }> {
  return { kind: 'problem', problem: problem(status, detail) };
}

/** Reads invoices from a JSON array, one per element. */
export function parseJson(text: string, maxRows: number): RowsOrProblem {
  let value: unknown;
  try {
    value = readJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refused(400, brokenJson(text, error));
  }
  if (!Array.isArray(value)) return refused(400, `Expected an array of invoices, not ${kindOf(value)}.`);
  if (value.length > maxRows) {
    return refused(
      413,
      `Expected at most ${maxRows} invoices in one body, not ${value.length}: split them over several requests.`,
    );
  }
  const elements: unknown[] = value;
  return { kind: 'rows', rows: elements.map((each, index) => ({ index, row: checkJsonInvoice(each) })) };
}

/**
 * JSON.parse turns `1999.0` and `19.99e2` into 1999. An amount written like that was a float at its source, so the
 * check gets it as the text that was sent, and refuses it.
 */
function readJson(text: string): unknown {
  if (!/"amountMinor"\s*:\s*-?\d*[.eE]/.test(text)) return JSON.parse(text);
  const keepFloats = (key: string, value: unknown, context?: { source?: string }): unknown =>
    key === 'amountMinor' && Number.isInteger(value) && /[.eE]/.test(context?.source ?? '')
      ? context?.source
      : value;
  return JSON.parse(text, keepFloats);
}

function brokenJson(text: string, error: SyntaxError): string {
  if (text.trim() === '') return 'The body is empty: expected an array of invoices.';
  const place = locateJsonError(text);
  if (place === undefined) return `The body is not JSON: ${error.message}.`;
  const { line, column, expected, found } = place;
  return `The body is not JSON: at line ${line}, column ${column}: expected ${expected}, found ${found}.`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
