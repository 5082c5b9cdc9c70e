import { MIMEType } from 'node:util';
import type { InvoiceContent } from '../invoice/invoice.ts';
import { sameContent } from '../invoice/sameContent.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { CheckedRow, Rejection } from './checkInvoice.ts';
import { parseCsv } from './parseCsv.ts';
import { parseJson } from './parseJson.ts';

export type { Rejection } from './checkInvoice.ts';

/** A good row; `index` counts the rows of the body from 0. */
export interface ParsedRow {
  index: number;
  invoice: InvoiceContent;
}

/** The rows of a body, or why none of it could be taken. Every row is in `rows`, a duplicate or rejected. */
export type ParsedInvoices =
  | { kind: 'invoices'; rows: ParsedRow[]; duplicates: number; rejected: Rejection[] }
  | { kind: 'problem'; problem: Problem };

/**
 * What one body may hold: bytes, and rows. 10 MB of common CSV rows (70 bytes) stay below. The rows of one body are stored
 * within one request, which Azure ends after 230 s: here 100,000 rows take 1.5 s, but a serverless Cosmos DB (5,000 RU/s,
 * some 8 RU a row) stores about as many in three minutes; what it does not store in time importInvoices.ts names.
 */
export const bodyLimits = { bytes: 32 * 1024 * 1024, rows: 150_000 } as const;

const parsers = new Map([
  ['application/json', parseJson],
  ['text/csv', parseCsv],
]);

/**
 * Reads the invoices of a request's body. A row that repeats an earlier one is a duplicate; one that has the id of an
 * earlier one and says something else is rejected, since an invoice never changes.
 *
 * @param body UTF-8, with or without a byte order mark
 * @param contentType as the header has it: `application/json` (an array) or `text/csv` (with a header)
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
    return refused(413, `Expected at most ${limits.bytes} bytes in one body, not ${size}: send it in parts.`);
  }
  const text = decode(body);
  if (text === undefined) return refused(400, 'The body is not UTF-8 text.');
  const parsed = parse(text, limits.rows);
  return parsed.kind === 'problem' ? parsed : sorted(parsed.rows);
}

function sorted(checked: Iterable<{ index: number; row: CheckedRow }>): ParsedInvoices {
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
      const error = `"${invoice.id}" is the id of row ${earlier.index} too, with other content`;
      rejected.push({ index, field: 'id', error });
    }
  }
  return { kind: 'invoices', rows: [...first.values()], duplicates, rejected };
}

/** Type and subtype, in lower case; empty where there is none, or a character set that is not UTF-8. */
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

/** The text without its byte order mark; undefined where the bytes are not UTF-8. */
function decode(body: Uint8Array | string): string | undefined {
  if (typeof body === 'string') return body.replace(/^\ufeff/, '');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function refused(status: number, detail: string): ParsedInvoices {
  return { kind: 'problem', problem: problem(status, detail) };
}
