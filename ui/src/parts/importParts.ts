import { CallFailed } from '../api/call.ts';
import { api } from '../api/requests.ts';
import type { SplitFile } from '../format/splitFile.ts';

/** Rows of one call: some hundred milliseconds each, so that the progress moves. */
export const rowsPerPart = 500;

/** Progress of sending a file. */
export interface Sending {
  /** The record of the file. */
  importId: string;
  /** Parts that have been answered. */
  parts: number;
  /** Their rows. */
  rows: number;
}

/** Begins the import of a file. @throws {CallFailed} */
export async function beginImport(
  fileName: string,
  { rows, columns, separator }: SplitFile,
): Promise<Sending> {
  const { importId } = await api.beginImport({ fileName, rows, columns, separator });
  return { importId, parts: 0, rows: 0 };
}

/** Sends the parts of a file from where it is, and tells how far it has come. @throws {CallFailed} */
export async function* importParts({ type, parts }: SplitFile, sending: Sending): AsyncGenerator<Sending> {
  let { rows } = sending;
  for (const [part, { content, numbers }] of [...parts.entries()].slice(sending.parts)) {
    const query = { import: sending.importId, part: String(part), rows: rangesOf(numbers) };
    const answer = await api.importRows({ content, type }, query);
    // The rows are stored. Sent again, they are duplicates, and their record is made up for.
    if (answer.importId === null)
      throw new CallFailed(503, 'The app could not record what became of some rows.');
    rows += numbers.length;
    yield { ...sending, parts: part + 1, rows };
  }
}

/** `2-501,503`: ascending numbers. Pure. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}
