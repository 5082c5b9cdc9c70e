import { z } from 'zod';
import type { InvoiceStatus } from '../../invoice/invoiceStatus.ts';
import { pageOf, time } from './common.ts';
import { pauseAnswer } from './pauseAnswers.ts';

const byStatus = z.object({
  pending: z.int(),
  claimed: z.int(),
  processing: z.int(),
  paid: z.int(),
  declined: z.int(),
  parked: z.int(),
  voided: z.int(),
} satisfies Record<InvoiceStatus, z.ZodType>);

const pace = z.object({
  /** Calls that all instances may make now. */
  allowedPerSecond: z.number(),
  /** Calls in the last window of some seconds; 0 if there was none lately. */
  usedPerSecond: z.number(),
  /** Share of those calls that the provider refused because there were too many. */
  refusedShare: z.number(),
  waitSeconds: z.number(),
});
export type PaceReport = z.infer<typeof pace>;

const backlog = z.object({
  /** Invoices that are due and that nobody has claimed. */
  waiting: z.int(),
  claimed: z.int(),
  /** Age of the first due date among those that wait. */
  oldestSeconds: z.number(),
  /** Time to pay them all at the present pace; null while nothing is being paid and nobody has paid yet. */
  estimatedSeconds: z.number().nullable(),
});
export type BacklogReport = z.infer<typeof backlog>;

const reversed = z.object({ currency: z.string(), count: z.int(), amountMinor: z.number() });

export const summaryAnswer = z.object({
  paused: pauseAnswer.nullable(),
  invoices: byStatus,
  outbox: z.object({ pending: z.int(), parked: z.int(), oldestPendingSeconds: z.number() }),
  /** Claims whose holder has given no sign of life for too long. */
  staleClaims: z.int(),
  /** Invoices with a recorded successful charge. */
  charges: z.int(),
  /** Invoices of which something is refunded or about to be. */
  refunded: z.array(reversed),
  /** Refunds that were ordered in vain so far, or that may have been made by hand. */
  overdueRefunds: z.int(),
  /** Disputes that the bank has not decided. */
  openDisputes: z.array(reversed),
  /** Null for a limit that nobody has used yet. */
  pace: z.object({ charges: pace.nullable(), lookups: pace.nullable() }),
  backlog,
});
export type Summary = z.infer<typeof summaryAnswer>;

const total = z.object({ count: z.int(), amountMinor: z.number() });
const totals = { paid: total, declined: total, refunded: total, disputed: total, disputeLost: total };
const day = z.object({ day: z.iso.date(), currency: z.string(), ...totals });
export type ReportDay = z.infer<typeof day>;

export const reportAnswer = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  currency: z.string().nullable(),
  unreadable: z
    .int()
    .describe(
      'Documents of counters that cannot be read, so that their amounts are missing: a recount begins them anew',
    ),
  feesIncluded: z.literal(false),
  days: z.array(day),
  totals: z.array(day.omit({ day: true })),
});

export const recountAnswer = z.object({
  shards: z.int().describe('Shards that were counted'),
  invoices: z.int().describe('Invoices in them'),
  corrected: z.int().describe('Counts that were wrong'),
  corrections: z
    .array(
      z.object({
        shard: z.string(),
        day: z.iso.date().nullable(),
        figure: z.string(),
        was: z.number(),
        is: z.number(),
      }),
    )
    .describe('The first hundred of them'),
  busy: z.array(z.string()).describe('Shards whose invoices changed while they were counted'),
  left: z.array(z.string()).describe('Shards for which there was no time'),
});

export const auditRecord = z.object({
  id: z.string(),
  at: time,
  actor: z.string(),
  actorId: z.string().describe('Object id of the person').exactOptional(),
  /** Id of the request in the journal. */
  intent: z.string().exactOptional(),
  action: z.string(),
  /** Id of the thing it was done to. */
  target: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).exactOptional(),
});
export type AuditRecord = z.infer<typeof auditRecord>;

export const auditAnswer = pageOf('records', auditRecord);

export const healthAnswer = z.object({
  status: z.enum(['ok', 'failing']),
  paused: z.union([pauseAnswer, z.literal('unknown')]).nullable(),
  checks: z.record(
    z.string(),
    z.union([
      z.object({ ok: z.literal(true), ms: z.number() }),
      z.object({ ok: z.literal(false), ms: z.number(), error: z.string() }),
    ]),
  ),
});
export type Health = z.infer<typeof healthAnswer>;
