import { MIMEType } from 'node:util';
import type { InvoiceContent } from '../invoice/invoice.ts';
import { sameContent } from '../invoice/sameContent.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { CheckedRow, Rejection } from './checkInvoice.ts';
import { parseCsv } from './parseCsv.ts';
import { parseJson } from './parseJson.ts';

export type { Rejection } from './checkInvoice.ts';

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
 * RU per row) stores about that many in three minutes. importInvoices.ts reports the rows it could not store in time.
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

function refused(status: number, detail: string): ParsedInvoices {
  return { kind: 'problem', problem: problem(status, detail) };
}
