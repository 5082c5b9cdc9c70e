import { z } from 'zod';
import { time } from './common.ts';
import { summaryAnswer } from './reportAnswers.ts';
import { runAnswer } from './runAnswers.ts';

/** The app roles: what somebody who is signed in may do. */
export const roles = ['ops.read', 'ops.write'] as const;
export type Role = (typeof roles)[number];

/** Reasons to call a person, the most urgent first. */
export const attentionCodes = [
  'nothing-paid',
  'disputes',
  'refunds-overdue',
  'dead-letters',
  'outbox-parked',
  'invoices-parked',
  'invoices-declined',
  'stale-claims',
] as const;

const attention = z.object({ code: z.enum(attentionCodes), count: z.int(), since: time.nullable() });
export type Attention = z.infer<typeof attention>;

export const overviewAnswer = summaryAnswer.extend({
  at: time.describe('When these counts were read'),
  attention: z.array(attention).describe('What needs a person, the most urgent first'),
  parkedReasons: z.array(z.object({ reason: z.string(), count: z.int() })),
  paidPerDay: z
    .array(z.object({ day: z.iso.date(), count: z.int() }))
    .describe('The last 14 days (UTC), oldest first'),
  deadLetters: z.int().describe('At most 100 of each queue are counted'),
  leases: z.object({ held: z.int(), known: z.int() }).nullable(),
  runs: z.array(runAnswer),
});
export type OverviewAnswer = z.infer<typeof overviewAnswer>;

export const meAnswer = z.object({
  actor: z.string(),
  roles: z.array(z.enum(roles)),
  environment: z.string(),
  version: z.string(),
  job: z.string(),
  payments: z
    .string()
    .nullable()
    .describe('Where the provider shows a payment, up to its id; null while its account is not known'),
  calls: z.array(z.string()).describe('The ids of the calls that this release has'),
});
export type MeAnswer = z.infer<typeof meAnswer>;
