import type { Page } from '@payonce/jobs/documents';
import type { Rejection } from './checkInvoice.ts';

/** Progress of an import. */
export interface ImportProgress {
  /** `stopped`: the rest of its body could not be read. `interrupted`: its process died. */
  status: 'running' | 'completed' | 'stopped' | 'interrupted';
  created: number;
  duplicates: number;
  rejected: number;
}

/** One import as it is kept; times are ISO 8601. */
export interface ImportView extends ImportProgress {
  importId: string;
  by: string;
  startedAt: string;
  updatedAt: string;
}

/** The record of one import, written while it runs. One call at a time. */
export interface ImportRecord {
  readonly importId: string;
  /** Adds rejections, and says how far it has come. */
  write(progress: ImportProgress, rejections: readonly Rejection[]): Promise<void>;
}

/** Keeps what became of each import, with all of its rejections. */
export interface ImportRecords {
  begin(by: string): ImportRecord;
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
