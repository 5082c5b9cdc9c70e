import { type Problem, problem } from '../platform/problem.ts';
import { type CheckedRow, checkJsonInvoice } from './checkInvoice.ts';
import { locateJsonError } from './locateJsonError.ts';

export type RowsOrProblem =
  | { kind: 'rows'; rows: Iterable<{ index: number; row: CheckedRow }> }
  | { kind: 'problem'; problem: Problem };

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

function refused(status: number, detail: string): RowsOrProblem {
  return { kind: 'problem', problem: problem(status, detail) };
}
