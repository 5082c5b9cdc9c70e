import type { Page } from '../documents/pages.ts';
import type { AuditRecord } from './answers/figureAnswers.ts';

/** One thing that somebody did through ops. */
export type AuditEntry = Omit<AuditRecord, 'id' | 'at'>;

/** The record of who did what: append only. */
export interface AuditTrail {
  /** Called once the thing has been done, with how it ended. */
  append(entry: AuditEntry): Promise<void>;
  /** A page of a day (`YYYY-MM-DD`, UTC), newest first. @throws {BadContinuation} */
  list(query: { day: string; continuation?: string; pageSize: number }): Promise<Page<AuditRecord>>;
}
