import type { Reversals } from './reversals.ts';

const minute = 60_000;
const hour = 60 * minute;

/**
 * Pauses before the checks of a payment in progress, in milliseconds; the last one goes on. A card that is slow ends within
 * minutes, an Indian mandate after a day, a bank debit after up to 14 days
 * (https://docs.stripe.com/payments/bank-debits). Events of the provider make a check sooner.
 */
const pauses = [minute, 2 * minute, 5 * minute, 15 * minute, hour, 2 * hour, 4 * hour, 6 * hour];

/** The first check of a refund, and the longest pause between two of a refund or dispute (ms). */
const firstReversalCheck = 5 * minute;
const longestPause = 24 * hour;

/**
 * When the provider is asked next about refunds and disputes that are not decided (ISO 8601): after half their age, five minutes
 * at least and a day at most. Undefined if all are decided. `now` in milliseconds.
 */
export function reversalsCheckAt(
  { refunds, disputes }: Pick<Reversals, 'refunds' | 'disputes'>,
  now: number,
): string | undefined {
  const open = [
    ...refunds.filter(({ status }) => status === 'requested' || status === 'pending'),
    ...disputes.filter(({ status }) => status === 'open'),
  ];
  if (open.length === 0) return undefined;
  const youngest = Math.max(...open.map(({ at }) => Date.parse(at)));
  const pause = Math.min(Math.max((now - youngest) / 2, firstReversalCheck), longestPause);
  return new Date(now + Math.round(pause)).toISOString();
}

/** Change of a paid invoice with new reversals, which includes the time of the next check. Pure. */
export function withReversals(
  reversals: Reversals,
  now: number,
): { set: { reversals: Reversals; checkAt?: string }; clear: 'checkAt'[] } {
  const checkAt = reversalsCheckAt(reversals, now);
  return checkAt === undefined
    ? { set: { reversals }, clear: ['checkAt'] }
    : { set: { reversals, checkAt }, clear: [] };
}

/** When the provider is asked next about a payment that was asked about `checks` times: ISO 8601. `now` in milliseconds. */
export function nextCheckAt(checks: number, now: number): string {
  return new Date(now + (pauses[checks] ?? 6 * hour)).toISOString();
}
