const minute = 60_000;
const hour = 60 * minute;

/**
 * Pauses before the checks of a payment in progress, in milliseconds; the last one goes on. A card that is slow ends within
 * minutes, an Indian mandate after a day, a bank debit after up to 14 days
 * (https://docs.stripe.com/payments/bank-debits). Events of the provider make a check sooner.
 */
const pauses = [minute, 2 * minute, 5 * minute, 15 * minute, hour, 2 * hour, 4 * hour, 6 * hour];

/** When the provider is asked next about a payment that was asked about `checks` times: ISO 8601. `now` in milliseconds. */
export function nextCheckAt(checks: number, now: number): string {
  return new Date(now + (pauses[checks] ?? 6 * hour)).toISOString();
}
