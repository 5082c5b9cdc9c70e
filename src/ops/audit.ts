import { z } from 'zod';
import type { Page } from '../documents/pages.ts';

const entrySchema = z.object({
  actor: z.string(),
  action: z.string(),
  /** What it was done to. */
  target: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).exactOptional(),
});

/** One thing that somebody did through ops. */
export type AuditEntry = z.infer<typeof entrySchema>;

export const auditRecordSchema = entrySchema.extend({ id: z.string(), at: z.string() });

/** The same as it was recorded; `at` is ISO 8601. */
export type AuditRecord = z.infer<typeof auditRecordSchema>;

/** The record of who did what: append only. */
export interface AuditTrail {
  /** Called once the thing has been done, with how it ended. */
  append(entry: AuditEntry): Promise<void>;
  /** A page of a day (`YYYY-MM-DD`, UTC), newest first. @throws {BadContinuation} */
  list(query: { day: string; continuation?: string; pageSize: number }): Promise<Page<AuditRecord>>;
}
