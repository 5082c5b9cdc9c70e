import type { Page } from '@payonce/jobs/documents';
import type { Rejection } from './checkInvoice.ts';

export interface ImportProgress {
  /** `stopped`: the rest of its body could not be read. `interrupted`: its process died. */
  status: 'running' | 'completed' | 'stopped' | 'interrupted';
  created: number;
  duplicates: number;
  rejected: number;
  /** Amounts of what was created (minor units), by currency. */
  sums: Readonly<Record<string, number>>;
}

/** A file that is imported part by part. */
export interface ImportedFile {
  fileName: string;
  /** Rows of all its parts. */
  rows: number;
  /** Names of its columns, in their order; empty if it is JSON. */
  columns: readonly string[];
  separator: string;
}

/** One import as it is kept; times are ISO 8601. */
export interface ImportView extends ImportProgress {
  importId: string;
  /** Absent: a body of rows that somebody sent by themselves. */
  file?: ImportedFile;
  by: string;
  startedAt: string;
  updatedAt: string;
}

/** The record of one import, written while it runs. One call at a time. */
export interface ImportRecord {
  readonly importId: string;
  write(progress: ImportProgress, rejections: readonly Rejection[]): Promise<void>;
}

/** Keeps what became of each import, with all of its rejections. */
export interface ImportRecords {
  begin(by: string): ImportRecord;
  /** Begins the import of a file, and gives its id. It has completed once all its rows have come. */
  beginFile(by: string, file: ImportedFile): Promise<string>;
  /**
   * The record of a part (counted from 0) of a file. `repeated`: it is recorded already, so its answer was lost. `notNext`: one
   * before it is missing. Undefined: no such import.
   */
  part(importId: string, part: number): Promise<ImportRecord | 'repeated' | 'notNext' | undefined>;
  find(importId: string): Promise<ImportView | undefined>;
  /** A page of the imports of a day (`YYYY-MM-DD`, UTC), newest first. @throws {BadContinuation} */
  list(query: { day: string; continuation?: string; pageSize: number }): Promise<Page<ImportView>>;
  /**
   * A page of what an import rejected, in the order in which it was found; undefined if there is no such import.
   * @throws {BadContinuation}
   */
  rejected(
    importId: string,
    query: { continuation?: string; pageSize: number },
  ): Promise<Page<Rejection> | undefined>;
}
