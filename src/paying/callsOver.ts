import type { Invoice } from '../invoice/invoice.ts';
import { lockRenewalMs } from './payingPolicy.ts';

/**
 * How long after the end of its claim a call for an invoice may still reach the provider and be worked on there, in
 * milliseconds.
 *
 * Only a batch calls, and only one that was started while it held the claim. The start is a write that the store refuses
 * once the claim has ended, but two deliveries of a batch may be under way side by side, and one of them settles first. The
 * other has begun before that, and from its beginning all its calls are made and abandoned within 9/10 of `lockRenewalMs`,
 * however the settings are (payingPolicy.ts). That much again is for what our deadlines do not end: a provider that works on
 * after its caller hung up, clocks of machines that differ, a process that stands still. A process that stands still for
 * longer finds its window over when it wakes, by one clock or the other (payBatch.ts). Only one that stops within the
 * fraction of a millisecond between its last look at the clocks and the sending of the request is not covered.
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
 * The time (milliseconds since the epoch) from which no call for an invoice that is not claimed can be under way any more;
 * undefined if it was never claimed. Pure.
 */
export function callsOverAt({ timeline }: Pick<Invoice, 'timeline'>): number | undefined {
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
