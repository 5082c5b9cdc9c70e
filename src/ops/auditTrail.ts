import type { Page } from '@payonce/jobs/documents';
import type { AuditRecord } from './answers/reportAnswers.ts';

/** One thing that somebody did through ops. */
export type AuditEntry = Omit<AuditRecord, 'id' | 'at'>;

/**
 * A run or refund that was ordered under an idempotency key: its entry gets its id and time, so that a repetition of the request,
 * which cannot know if the first one was recorded, adds it once.
 */
export interface Made {
  id: string;
  /** ISO 8601. */
  at: string;
}

export interface AuditTrail {
  append(entry: AuditEntry, made?: Made): Promise<void>;
  /** A page, newest first. @throws {BadContinuation} */
  list(query: AuditFilter & { continuation?: string; pageSize: number }): Promise<Page<AuditRecord>>;
}

/** `from` and `to`: first and last day (`YYYY-MM-DD`, UTC). `actor` and `action`: part of the name, in any case. */
export interface AuditFilter {
  from?: string;
  to?: string;
  target?: string;
  actor?: string;
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
