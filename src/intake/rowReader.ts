import type { Problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';

/** Limits of one body. */
export interface ImportLimits {
  /**
   * The host and the worker hold six copies of a body between them, and an instance of 2 GB takes 16 requests at once. The
   * host itself refuses a little more than this (FUNCTIONS_REQUEST_BODY_SIZE_LIMIT in infra/).
   */
  readonly bytes: number;
  /**
   * 10 MB of typical CSV rows (70 bytes) stay below it. The rows of a body are stored within one request, which Azure ends
   * after 230 s. A serverless Cosmos DB (5,000 RU/s, some 8 RU a row) stores about that many in three minutes.
   */
  readonly rows: number;
  /** One row, with its punctuation. The longest that makes sense has 1,765 bytes of text, each up to six as `\uXXXX`. */
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

/** Nothing after this point of the body can be read. Rows before it have been. */
export interface Stop {
  kind: 'stop';
  problem: Problem;
}

export type ReadRow = CheckedRow | Stop;

/**
 * Reads rows from a body that comes in parts. A part has one character for each byte (latin1): line ends, quotes and brackets
 * are single bytes in UTF-8, and each row is decoded by itself, so that bytes that are not UTF-8 cost one row.
 */
export interface RowReader {
  /** The rows that end in this part. Nothing follows a stop. */
  push(part: string): Iterable<ReadRow>;
  /** What is left when the body has ended. */
  end(): Iterable<ReadRow>;
}
