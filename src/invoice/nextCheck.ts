/* `checkAt` of an invoice: when the provider is asked next about a payment in progress, or about what has gone back. */

const minute = 60_000;
const hour = 60 * minute;

/**
 * Pauses before the checks of a payment in progress, in milliseconds; the last one goes on. A card that is slow ends within
 * minutes, an Indian mandate after a day, a bank debit after up to 14 days
 * (https://docs.stripe.com/payments/bank-debits). Events of the provider make a check sooner.
 */
const pauses = [minute, 2 * minute, 5 * minute, 15 * minute, hour, 2 * hour, 4 * hour, 6 * hour];

/** Time of the next check of a payment (ISO 8601), after `checks` of them. `now` in milliseconds. */
export function nextCheckAt(checks: number, now: number): string {
  return new Date(now + (pauses[checks] ?? 6 * hour)).toISOString();
}

/** The first check of a refund, and the longest pause between two of a refund or dispute (ms). */
const firstReversalCheck = 5 * minute;
const longestPause = 24 * hour;

/**
 * When the provider is asked next about refunds and disputes that are not decided (ISO 8601): after half their age, five minutes
 * at least and a day at most. Undefined if all are decided. `now` in milliseconds.
 */
export function reversalsCheckAt(
  { refunds, disputes }: Record<'refunds' | 'disputes', readonly { status: string; at: string }[]>,
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
