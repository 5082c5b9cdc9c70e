import { defaultSettlementPolicy, type SettlementPolicy } from './decideSettlement.ts';

export interface PayingPolicy {
  settlement: SettlementPolicy;
  claimStaleMs: number;
  /** How long after its delivery calls of a batch may begin, in milliseconds (`callWindowMs`). */
  callWindowMs: number;
  /** How long settled outcomes wait for others of their batch, in milliseconds. */
  lingerMs: number;
}

/** The policy of one process: what the settings say, and what they need not. */
export function payingPolicy({
  claimStaleMs,
  timeoutMs,
}: {
  claimStaleMs: number;
  /** Time-out of one provider call, in milliseconds. */
  timeoutMs: number;
}): PayingPolicy {
  return {
    settlement: defaultSettlementPolicy,
    claimStaleMs,
    callWindowMs: callWindowMs({ claimStaleMs, timeoutMs }),
    lingerMs: 1_000,
  };
}

/** How long the host renews a message's lock, in milliseconds: `maxAutoLockRenewalDuration` of host.json (a test compares). */
export const lockRenewalMs = 5 * 60_000;

/** Provider calls that paying one invoice may take, one after the other: the charge and a look-up. */
const callsInARow = 2;

/**
 * How long after the start of a batch the payment of one of its invoices may begin, in milliseconds. What begins by then is
 * answered and settled before the claim goes stale or the message's lock ends; the rest is delivered again. Pure.
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
 * The longest time-out of one call, in milliseconds, that leaves a window of at least one such call, so that an invoice
 * that had to wait for a slow call is still paid. It is 0.3 × the stale time. With a longer one there may be no window at
 * all, and nothing would ever be paid. Pure.
 */
export function longestTimeoutMs(claimStaleMs: number): number {
  return timeForCallsMs(claimStaleMs) / (callsInARow + 1);
}

/** A tenth of the time is for the settlement and for delays in between. */
function timeForCallsMs(claimStaleMs: number): number {
  return (9 * Math.min(claimStaleMs, lockRenewalMs)) / 10;
}
