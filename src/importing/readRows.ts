import { MIMEType } from 'node:util';
import { type Turns, turnMs } from '../platform/eventLoopTurns.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkInvoice.ts';

export interface ImportLimits {
  /** Host and worker hold six copies of a body, 16 at once in 2 GB. See FUNCTIONS_REQUEST_BODY_SIZE_LIMIT in infra/. */
  readonly bytes: number;
  /** A serverless Cosmos DB (5,000 RU/s, some 8 RU a row) stores about that many in the three minutes that a request has. */
  readonly rows: number;
  /** The longest row that makes sense has 1,765 bytes of text, each up to six as `\uXXXX`. */
  readonly rowBytes: number;
  /** Arrays and objects inside a JSON row, one in another. An invoice has none. */
  readonly nesting: number;
}

export const importLimits: ImportLimits = {
  bytes: 12 * 1024 * 1024,
  rows: 150_000,
  rowBytes: 16_384,
  nesting: 20,
};

/** Bytes that a reader looks at before everything else gets its turn. */
export const sliceBytes = 16_384;

/** Nothing after this point of the body can be read. Rows before it have been. */
export interface Stop {
  kind: 'stop';
  problem: Problem;
}

/** A row as its reader finds it. Undefined: there is none yet, and a slice of the body is done. */
export type FoundRow = CheckedRow | Stop | undefined;

/** Finds the rows of a body, up to a stop; each is decoded by itself, so that bytes that are not UTF-8 cost one row. */
export type RowReader = (body: Buffer, limits: ImportLimits) => Iterable<FoundRow>;

/** A row of a body; `index` counts them from 0. */
export type Row = CheckedRow & { index: number };

/** Reads the rows of a body, a few at a time, between which the event loop goes round. `stopped` hears why it stopped early. */
export async function* readRows(
  body: Buffer,
  reader: RowReader,
  { limits, turns, stopped }: { limits: ImportLimits; turns: Turns; stopped: (why: Problem) => void },
): AsyncGenerator<readonly Row[]> {
  let index = 0;
  let rows: Row[] = [];
  await turns.next();
  let began = performance.now();
  const hasByteOrderMark = body.toString('latin1', 0, 3) === '\xef\xbb\xbf';
  for (const row of reader(hasByteOrderMark ? body.subarray(3) : body, limits)) {
    if (row?.kind === 'stop' || (row !== undefined && index >= limits.rows)) {
      yield rows;
      stopped(row.kind === 'stop' ? row.problem : tooManyRows(limits));
      return;
    }
    if (row !== undefined) rows.push({ ...row, index: index++ });
    if (row === undefined || performance.now() - began > turnMs) {
      yield rows;
      rows = [];
      await turns.next();
      began = performance.now();
    }
  }
  yield rows;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const beyondAscii = /[\x80-\xff]/;

/** The text of bytes that are given as latin1. Undefined if they are not UTF-8. */
export function fromLatin1(bytes: string): string | undefined {
  if (!beyondAscii.test(bytes)) return bytes;
  try {
    return decoder.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** The type and subtype of a body in lower case. Empty if there is none, or if the character set is not UTF-8. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  try {
    const { essence, params } = new MIMEType(contentType ?? '');
    return ['utf-8', 'utf8', 'us-ascii'].includes(params.get('charset')?.toLowerCase() ?? 'utf-8')
      ? essence
      : '';
  } catch {
    return '';
  }
}

export function refusedRow(error: string): CheckedRow {
  return { kind: 'bad', field: 'row', error };
}

export function tooLongRow({ rowBytes }: Pick<ImportLimits, 'rowBytes'>): string {
  return `expected a row of at most ${rowBytes} bytes`;
}

export function tooLarge(most: number): Problem {
  return problem(413, `Expected at most ${most} bytes in one body: split it over several requests.`);
}

function tooManyRows({ rows }: Pick<ImportLimits, 'rows'>): Problem {
  return problem(413, `Expected at most ${rows} rows in one body: send those that follow in other requests.`);
}
