import type { ImportAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api } from '../api/requests.ts';
import type { SplitFile } from '../format/splitFile.ts';

/** Rows of one call: some hundred milliseconds each, so that the progress moves. */
export const rowsPerPart = 500;

export interface Progress extends ImportAnswer {
  /** Rows that have been answered. */
  sent: number;
}

/** Sends a file part by part, and tells how far it has come. @throws {CallFailed} */
export async function* importParts({ type, parts }: SplitFile): AsyncGenerator<Progress> {
  let progress: Progress = { sent: 0, created: 0, duplicates: 0, rejected: [] };
  for (const { content, rows, before } of parts) {
    const { created, duplicates, rejected } = await api.importRows({ content, type });
    progress = {
      sent: progress.sent + rows,
      created: progress.created + created,
      duplicates: progress.duplicates + duplicates,
      rejected: [...progress.rejected, ...rejected.map((row) => ({ ...row, index: row.index + before }))],
    };
    yield progress;
  }
}
