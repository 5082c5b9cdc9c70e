import type { Page } from '@payonce/jobs/documents';
import type { AuditRecord } from './answers/reportAnswers.ts';

/** One thing that somebody did through ops. */
export type AuditEntry = Omit<AuditRecord, 'id' | 'at'>;

/**
 * A run or refund that a person ordered under an idempotency key. A repetition of the request finds it there and cannot know if its
 * creator lived to record it: the entry gets its id and time, so it is added once.
 */
export interface Made {
  id: string;
  /** ISO 8601. */
  at: string;
}

/** The record of who did what: append only. */
export interface AuditTrail {
  /** Called once the thing has been done, with how it ended. */
  append(entry: AuditEntry, made?: Made): Promise<void>;
  /** A page, newest first. @throws {BadContinuation} */
  list(query: AuditFilter & { continuation?: string; pageSize: number }): Promise<Page<AuditRecord>>;
}

/** Which records to list. What is absent does not matter. */
export interface AuditFilter {
  /** Of this day and later days (`YYYY-MM-DD`, UTC). */
  from?: string;
  /** Of this day and earlier days. */
  to?: string;
  target?: string;
  /** Part of the name of who did it, in any case. */
  actor?: string;
  /** Part of the name of what was done, in any case. */
  action?: string;
}

/** One thing that somebody is about to change, or the answer to a request: its HTTP status. */
export type JournalLine =
  | {
      at: string;
      /** Id that all lines of one request have, and that of its answer. */
      intent: string;
      actor: string;
      /** Object id of the person. Absent: nobody was signed in. */
      actorId?: string;
      action: string;
      /** Id of the invoice, run, message or lock; of a call without one, its route. */
      target: string;
      /** New values, with the reason. */
      changes: Record<string, unknown>;
    }
  | { at: string; intent: string; outcome: number | 'unknown' };

/** The append-only record, outside the database, of what people change: a restore of the database does not undo it. */
export interface Journal {
  /** Resolves once the lines are stored, all or none. Lines may be stored twice. */
  append(lines: readonly JournalLine[]): Promise<void>;
}
