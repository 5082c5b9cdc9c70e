import type { LeaseSetting } from './lease.ts';
import type { LeaseTiming } from './timing.ts';

/** A lease between two renewals. Times are milliseconds on the monotonic clock. */
export interface Tenure {
  /** End of the holder's trust. */
  trustedUntil: number;
  /** Time to give the lease up: `trustedUntil` less the slack for a late timer. */
  giveUpAt: number;
  /** Time of the next renewal. */
  renewAt: number;
  /** Renewals without an answer since the last success. */
  failures: number;
  /** The error of the last of them. */
  lastFailure?: string;
}

/** The tenure that begins with a successful request, sent at `sentAt`. */
export function startTenure(
  sentAt: number,
  { timing, random }: Pick<LeaseSetting, 'timing' | 'random'>,
): Tenure {
  const jitter = timing.renewJitter * (2 * random() - 1);
  const trusted = trustedUntil(sentAt, timing);
  return {
    trustedUntil: trusted,
    giveUpAt: trusted - timing.timerSlackMs,
    renewAt: sentAt + timing.renewEveryMs * (1 + jitter),
    failures: 0,
  };
}

/**
 * End of a holder's trust. The store counts from the arrival of the request, which is later than `sentAt`, so the holder's time
 * always ends first.
 */
export function trustedUntil(sentAt: number, timing: LeaseTiming): number {
  return sentAt + timing.leaseMs - timing.marginMs;
}
