import type { ImportAnswer } from '../../../src/ops/answers/importAnswers.ts';
import { api } from '../api/requests.ts';
import type { SplitFile } from '../format/splitFile.ts';

/** Rows of one call: some hundred milliseconds each, so that the progress moves. */
export const rowsPerPart = 500;

/** A row that was refused, by its number in the file. */
export interface RefusedRow {
  number: number;
  field: string;
  error: string;
}

export interface Progress extends Pick<ImportAnswer, 'created' | 'duplicates'> {
  /** Rows that have been answered. */
  sent: number;
  rejected: readonly RefusedRow[];
}

export const noProgress: Progress = { sent: 0, created: 0, duplicates: 0, rejected: [] };

/** Sends a file part by part, and tells how far it has come. @throws {CallFailed} */
export async function* importParts({ type, parts }: SplitFile): AsyncGenerator<Progress> {
  let progress = noProgress;
  for (const { content, numbers } of parts) {
    const answer = await api.importRows({ content, type });
    const rejected = await allRejected(answer);
    progress = {
      sent: progress.sent + numbers.length,
      created: progress.created + answer.created,
      duplicates: progress.duplicates + answer.duplicates,
      rejected: [...progress.rejected, ...rejected.map((row) => inFile(row, numbers))],
    };
    yield progress;
  }
}

/** The app counts rows from 0 and lines from 1 in the part that it was sent; a person counts in the file. */
function inFile(
  { index, field, error }: ImportAnswer['rejected'][number],
  numbers: readonly number[],
): RefusedRow {
  const told = error
    .replace(/^line \d+: /, '')
    .replace(
      /( repeats the id of row )(\d+)(?= with other content$)/,
      (_, words: string, row: string) => words + numbers[Number(row)],
    );
  return { number: numbers[index] ?? 0, field, error: told };
}

/** The answer has the first hundred rejected rows. The record of the import has the others too. */
async function allRejected({
  importId,
  rejectedCount,
  rejected,
}: ImportAnswer): Promise<ImportAnswer['rejected']> {
  if (importId === null || rejectedCount === rejected.length) return rejected;
  const all: ImportAnswer['rejected'] = [];
  let continuation: string | null = '';
  do {
    const page: Awaited<ReturnType<typeof api.rejected>> = await api.rejected(importId, { continuation });
    all.push(...page.rejected);
    continuation = page.continuation;
  } while (continuation !== null);
  return all;
}
