import { z } from 'zod';
import { splitCounts } from '../../../src/invoice/amountCounts.ts';
import type { RunAnswer } from '../../../src/ops/answers/runAnswers.ts';

const requestSchema = z.object({
  action: z.enum(['retry', 'void', 'redrive', 'discard']),
  filter: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  reason: z.string(),
  actor: z.string(),
  cap: z.number().optional(),
});

const nouns = { retry: 'Retry', void: 'Void', redrive: 'Redrive', discard: 'Discard' } as const;

/** A bulk change in words. */
export interface BulkText {
  /** `Retry of declined invoices`. */
  title: string;
  /** `currency: EUR, dueBefore: 2026-01-01`. */
  filter: string;
  reason: string;
  actor: string;
  changed: number;
  /** Things that it was asked to change and did not. */
  notChanged: number;
  /** Things that it has looked at or has yet to look at, as they were counted before; undefined if they were not. */
  planned: number | undefined;
}

/** Request and progress of a bulk run; undefined for any other run. Pure. */
export function bulkText({ request, counts }: Pick<RunAnswer, 'request' | 'counts'>): BulkText | undefined {
  const { data } = requestSchema.safeParse(request);
  if (data === undefined) return undefined;
  const { action, filter, reason, actor, cap } = data;
  const { status, from, ...others } = filter;
  const what = status === undefined ? `messages of ${from}` : `${status} invoices`;
  const { matching, ...done } = Object.fromEntries(splitCounts(counts).others);
  const { retried = 0, voided = 0, redriven = 0, discarded = 0, ...left } = done;
  const changed = retried + voided + redriven + discarded;
  return {
    title: `${nouns[action]} of ${what}`,
    filter: Object.entries(others)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', '),
    reason,
    actor,
    changed,
    notChanged: Object.values(left).reduce((sum, count) => sum + count, 0),
    planned: cap ?? matching,
  };
}
