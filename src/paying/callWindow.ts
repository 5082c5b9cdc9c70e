/** For so long the host renews a message's lock: `maxAutoLockRenewalDuration` of host.json (a test compares). Milliseconds. */
export const lockRenewalMs = 5 * 60_000;

/** Calls of the provider that paying one invoice may take, one after the other: the charge, and a look-up. */
const callsInARow = 2;

/**
 * How long after the start of a batch paying one of its invoices may begin, in milliseconds: what begins by then has its
 * answer, and its settlement, before the claim goes stale or the message's lock ends. What did not begin by then is
 * delivered again. Pure.
 */
export function callWindowMs({
  claimStaleMs,
  timeoutMs,
}: {
  claimStaleMs: number;
  /** Bound of one call: at most `longestTimeoutMs`. */
  timeoutMs: number;
}): number {
  return timeForCallsMs(claimStaleMs) - callsInARow * timeoutMs;
}

/**
 * The longest bound of one call that leaves a window of at least one such call, in milliseconds: invoices that had to wait
 * for a slow call before them are still paid. With a longer one there may be no window at all, and nothing is ever paid.
 * Pure.
 */
export function longestTimeoutMs(claimStaleMs: number): number {
  return timeForCallsMs(claimStaleMs) / (callsInARow + 1);
}

/** A tenth of the time is for the settlement, and for what comes in between. */
function timeForCallsMs(claimStaleMs: number): number {
  return (9 * Math.min(claimStaleMs, lockRenewalMs)) / 10;
}
