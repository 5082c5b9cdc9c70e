import type { Invoice } from '../invoice/invoice.ts';
import { stepsOf } from '../invoice/timeline.ts';

/** All in milliseconds. */
export interface SettlementPolicy {
  /** Wait after each soft decline until the next try; when they are used up the invoice is declined. */
  softDeclineRetryMs: readonly number[];
  /** Delay before we ask again for an unknown outcome under the same idempotency key. */
  unknownBackoff: { base: number; cap: number };
  /** Time after a look-up that found no payment before another one proves that there is none. */
  noneFoundMs: number;
  /** Delay before a retry where the provider certainly did nothing, or fails at other calls too. */
  transientBackoff: { base: number; cap: number };
}

const day = 24 * 3600 * 1000;

export const defaultSettlementPolicy: SettlementPolicy = {
  softDeclineRetryMs: [1 * day, 3 * day, 7 * day],
  unknownBackoff: { base: 5_000, cap: 300_000 },
  noneFoundMs: 3_600_000,
  transientBackoff: { base: 5_000, cap: 900_000 },
};

export interface PayingPolicy {
  settlement: SettlementPolicy;
  claimStaleMs: number;
  /** Window of a batch: time after its delivery in which its calls may begin (ms), from `callWindowMs`. */
  callWindowMs: number;
  /** Time that the first outcome to be settled waits for others of its batch (ms), which are settled with it. */
  lingerMs: number;
}

interface CallTimes {
  claimStaleMs: number;
  /** Time-out of one provider call (ms): at most `longestTimeoutMs`. */
  timeoutMs: number;
}

/** The policy of one process: what the settings say, and what they need not. */
export function payingPolicy({ claimStaleMs, timeoutMs }: CallTimes): PayingPolicy {
  return {
    settlement: defaultSettlementPolicy,
    claimStaleMs,
    callWindowMs: callWindowMs({ claimStaleMs, timeoutMs }),
    lingerMs: 1_000,
  };
}

/** Time for which the host renews a message's lock (ms): `maxAutoLockRenewalDuration` of host.json (a test compares). */
export const lockRenewalMs = 5 * 60_000;

/** Provider calls that paying one invoice may take, one after the other: the charge and a look-up. */
const callsInARow = 2;

/**
 * Calculates the window of a batch: the time after its start in which the payment of one of its invoices may begin (ms). What
 * begins by then is answered and settled before the claim goes stale or the message's lock ends; the rest is delivered again.
 * Pure.
 */
export function callWindowMs({ claimStaleMs, timeoutMs }: CallTimes): number {
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

/**
 * Time after the end of its claim in which a call for an invoice may still reach the provider and be worked on there (ms).
 *
 * Only a batch that was started under its claim calls. Of two deliveries in flight one may settle first; the other makes and
 * abandons all its calls within 9/10 of `lockRenewalMs` of its start, however the settings are. As much again is for what our
 * deadlines do not end: a provider that works on after its caller hung up, clock skew, a process that stands still, which finds
 * its window over when it wakes (payBatch.ts). Not covered: one that stops between its last look at the clocks and its request.
 */
export const callsOverMs = 2 * lockRenewalMs;

/** Entries that say that a batch holds the invoice; each other entry of a batch says how its claim ended. */
const holding: ReadonlySet<string> = new Set([
  'claimed',
  'reclaimed',
  'called again',
  'payment method resolved',
]);

/**
 * The time (milliseconds since the epoch) from which no call for an invoice that is not claimed can be in flight any more;
 * undefined if it was never claimed. Pure.
 */
export function callsOverAt(invoice: Pick<Invoice, 'timeline'>): number | undefined {
  const timeline = stepsOf(invoice.timeline);
  const last = timeline.findLastIndex(({ batchId }) => batchId !== undefined);
  // A long timeline has lost its middle: what is left of it after the first entry is younger than the claim.
  if (last === -1) return after(timeline[1]?.at);
  const entry = timeline[last];
  const ended = entry !== undefined && holding.has(entry.what) ? (timeline[last + 1] ?? entry) : entry;
  return after(ended?.at);
}

function after(at: string | undefined): number | undefined {
  return at === undefined ? undefined : Date.parse(at) + callsOverMs;
}
