import { z } from 'zod';
import { csvRecords, csvRows } from './csvRows.ts';
import type { ImportRecord } from './importRecords.ts';
import { isTwice, readJson } from './jsonRows.ts';
import { fromLatin1, importLimits, type Row, type RowReader } from './readRows.ts';

const mostPartRows = 1_000;

/** `2-501,503`: numbers of rows. */
const rangesField = z
  .string()
  .max(6_000)
  .regex(/^\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*$/, { error: 'expected numbers of rows, like 2-501,503' })
  .transform((text) =>
    text.split(',').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: Math.min(Math.max(0, to - from + 1), mostPartRows) }, (_, n) => from + n);
    }),
  )
  .describe('Numbers of the rows of this part in its file, like 2-501,503');

/** The parameters of an import that sends a part. */
export const partQuery = z.object({
  import: z.string().exactOptional().describe('The import of the file that this is a part of'),
  part: z.coerce.number().int().min(0).exactOptional().describe('Its number, from 0'),
  rows: rangesField.exactOptional(),
});

/** A part of a file: the number in the file of each of its rows, and the rows as they were sent. */
export interface FilePart {
  numbers: readonly number[];
  original: () => (place: number) => unknown;
}

export async function* numbered(
  rows: AsyncIterable<readonly Row[]>,
  { numbers }: FilePart,
): AsyncGenerator<readonly Row[]> {
  for await (const some of rows) {
    yield some.map((row) => {
      const index = numbers[row.index] ?? row.index;
      return row.kind === 'bad'
        ? { ...row, index, error: row.error.replace(/^line \d+: /, '') }
        : { ...row, index };
    });
  }
}

/** The record, which is given the refused rows as they were sent. */
export function inFile(kept: ImportRecord, { numbers, original }: FilePart): ImportRecord {
  return {
    importId: kept.importId,
    write(progress, rejections) {
      const rowAt = rejections.length === 0 ? () => undefined : original();
      const withRows = rejections.map((one) => ({
        ...one,
        // Nobody has decided which of the two counts.
        row: one.error === isTwice ? undefined : rowAt(numbers.indexOf(one.index)),
      }));
      return kept.write(progress, withRows);
    },
  };
}

const mostRowBytes = 3_000;

/** The rows of a short body as they were sent: the cells of a CSV, or the items of an array. Read only if some are refused. */
export function originalRows(body: Buffer, reader: RowReader): FilePart['original'] {
  return () => {
    const rows = reader === csvRows ? cellsIn(body) : itemsIn(body);
    return (place) =>
      Buffer.byteLength(JSON.stringify(rows[place] ?? null)) > mostRowBytes ? undefined : rows[place];
  };
}

function cellsIn(body: Buffer): unknown[] {
  const [, ...records] = [...csvRecords(body, importLimits.rowBytes)].filter((one) => one !== undefined);
  return records.map((one) =>
    'cells' in one ? one.cells.map((cell) => fromLatin1(cell) ?? cell) : undefined,
  );
}

function itemsIn(body: Buffer): unknown[] {
  try {
    const items = readJson(body.toString());
    return Array.isArray(items) ? items : [];
  } catch {
    return [];
  }
}
