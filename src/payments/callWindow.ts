/** For so long the host renews a message's lock: `maxAutoLockRenewalDuration` of host.json (a test compares). Milliseconds. */
export const lockRenewalMs = 5 * 60_000;

/** The share of the time that is for the settlement, and for what comes in between. */
const settlementShare = 0.1;

/**
 * How long after the start of a batch its calls may begin, in milliseconds: one that begins by then has its answer, and
 * its settlement, before the claim goes stale or the message's lock ends. What was not called by then is delivered again.
 * Pure.
 */
export function callWindowMs({
  claimStaleMs,
  timeoutMs,
}: {
  claimStaleMs: number;
  /** Bound of one call. */
  timeoutMs: number;
}): number {
  return Math.max(0, (1 - settlementShare) * Math.min(claimStaleMs, lockRenewalMs) - timeoutMs);
}
