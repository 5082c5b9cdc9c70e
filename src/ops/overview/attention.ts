import { type AttentionCode, attentionCodes } from '../answers/attentionCodes.ts';
import type { Summary } from '../summary.ts';

export interface Attention {
  code: AttentionCode;
  count: number;
  /** Since when, if that is known: ISO 8601. */
  since: string | null;
}

/** Invoices that are due for longer than this, in seconds, while none is being paid: something is wrong. */
const tooLongDue = 900;

/** Decides by the figures at `now` (milliseconds). Pure. */
export function attentionOf(
  { invoices, outbox, staleClaims, openDisputes, backlog, pace }: Summary,
  deadLetters: readonly { at: string | null }[],
  now: number,
): Attention[] {
  const nothingPaid = backlog.oldestSeconds > tooLongDue && (pace.charges?.usedPerSecond ?? 0) === 0;
  const dueSince = new Date(now - backlog.oldestSeconds * 1000).toISOString();
  const firstGivenUp = deadLetters.flatMap(({ at }) => at ?? []).toSorted()[0] ?? null;
  const found: Record<AttentionCode, [count: number, since: string | null]> = {
    'nothing-paid': nothingPaid ? [backlog.waiting, dueSince] : [0, null],
    disputes: [openDisputes.reduce((sum, { count }) => sum + count, 0), null],
    'dead-letters': [deadLetters.length, firstGivenUp],
    'outbox-parked': [outbox.parked, null],
    'invoices-parked': [invoices.parked, null],
    'stale-claims': [staleClaims, null],
  };
  return attentionCodes.flatMap((code) => {
    const [count, since] = found[code];
    return count === 0 ? [] : [{ code, count, since }];
  });
}
