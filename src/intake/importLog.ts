import type { Clock } from '../platform/clock.ts';
import type { Rejection } from './checkInvoice.ts';
import type { ImportProgress, ImportRecord } from './importRecords.ts';

/** Rejections that an answer names. */
export const mostShown = 100;
/** Rejections in memory that have not been written. Each has some 700 bytes at most. */
const mostUnwritten = 400;
/** Milliseconds between two records of how far an import has come. */
const progressMs = 2_000;

export type Counts = Omit<ImportProgress, 'status'>;

/**
 * Counts what becomes of the rows of one import, and has it recorded as it goes. A record that cannot be written does not
 * stop the import: what is stored counts.
 */
export function importLog(record: ImportRecord, clock: Clock) {
  const counts: Counts = { created: 0, duplicates: 0, rejected: 0 };
  /** The rejections of the lowest rows, sorted. */
  let shown: Rejection[] = [];
  let unwritten: Rejection[] = [];
  let writtenAt = clock.monotonic();
  let failure: unknown;

  return {
    counts,
    created: () => void counts.created++,
    duplicate: () => void counts.duplicates++,
    reject(rejection: Rejection): void {
      counts.rejected++;
      unwritten.push(rejection);
      shown.push(rejection);
      if (shown.length >= 2 * mostShown) shown = lowest(shown);
    },
    /** The first rejections by row. */
    shown: () => lowest(shown),
    /** Writes what has come together, if it is time. */
    async keepUp(): Promise<void> {
      const isDue = clock.monotonic() - writtenAt >= progressMs && sum(counts) > 0;
      if (isDue || unwritten.length >= mostUnwritten) await write('running');
    },
    /** Writes the rest. Undefined if all of it is recorded, otherwise why it is not. */
    async end(status: 'completed' | 'stopped'): Promise<unknown> {
      await write(status);
      return failure;
    },
  };

  async function write(status: ImportProgress['status']): Promise<void> {
    const rejections = unwritten;
    unwritten = [];
    writtenAt = clock.monotonic();
    if (failure !== undefined) return;
    try {
      await record.write({ status, ...counts }, rejections);
    } catch (error) {
      failure = error;
    }
  }
}

function sum({ created, duplicates, rejected }: Counts): number {
  return created + duplicates + rejected;
}

function lowest(rejections: readonly Rejection[]): Rejection[] {
  return rejections.toSorted((one, other) => one.index - other.index).slice(0, mostShown);
}
