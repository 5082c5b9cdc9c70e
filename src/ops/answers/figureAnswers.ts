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
  allowedPerSecond: z.number(),
  usedPerSecond: z.number(),
  refusedShare: z.number(),
  waitSeconds: z.number(),
});

const reversed = z.object({ currency: z.string(), count: z.int(), amountMinor: z.number() });

export const summaryAnswer = z.object({
  paused: pauseAnswer.nullable(),
  invoices: byStatus,
  outbox: z.object({ pending: z.int(), parked: z.int(), oldestPendingSeconds: z.number() }),
  staleClaims: z.int(),
  charges: z.int(),
  refunded: z.array(reversed),
  openDisputes: z.array(reversed),
  pace: z.object({ charges: pace.nullable(), lookups: pace.nullable() }),
  backlog: z.object({
    waiting: z.int(),
    claimed: z.int(),
    oldestSeconds: z.number(),
    estimatedSeconds: z.number().nullable(),
  }),
});

const total = z.object({ count: z.int(), amountMinor: z.number() });
const totals = { paid: total, declined: total, refunded: total, disputed: total, disputeLost: total };
const day = z.object({ day: z.iso.date(), currency: z.string(), ...totals });
export type ReportDay = z.infer<typeof day>;

export const reportAnswer = z.object({
  from: time,
  to: time,
  currency: z.string().nullable(),
  feesIncluded: z.literal(false),
  days: z.array(day),
  totals: z.array(day.omit({ day: true })),
});

export const recountAnswer = z.object({
  shards: z.int().describe('Shards that were counted'),
  invoices: z.int().describe('Invoices in them'),
  corrected: z.int().describe('Figures that were wrong'),
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

const auditRecord = z.object({
  id: z.string(),
  at: time,
  actor: z.string(),
  action: z.string(),
  target: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).exactOptional(),
});
export type AuditAnswer = z.infer<typeof auditRecord>;

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
