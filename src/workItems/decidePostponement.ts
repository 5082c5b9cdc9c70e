import { exponentialBackoff, jittered } from '../platform/backoff.ts';
import type { WorkItem } from './workItem.ts';

/** What a work item carries from its first failed try on. */
export type Retry = NonNullable<WorkItem['retry']>;

/** What to do with a work item that cannot be done now. */
export type PostponementDecision =
  /** Later: `delayMs` milliseconds from now, with this in it. */
  | { kind: 'later'; delayMs: number; retry: Retry }
  /** It has been tried for long enough. */
  | { kind: 'giveUp' };

/** Milliseconds: 10 s, 20 s, 40 s … 15 min. */
const backoff = { base: 10_000, cap: 900_000 };
/** How long a work item is tried, in milliseconds: a day, longer than outages last. */
export const longestRetryMs = 24 * 3_600_000;

/** Decides at `now` (milliseconds), given what the item carries from earlier tries. Pure but for `random`. */
export function decidePostponement(
  before: Retry | undefined,
  now: number,
  random: () => number = Math.random,
): PostponementDecision {
  const { tries, since } = before ?? { tries: 0, since: new Date(now).toISOString() };
  if (now - Date.parse(since) >= longestRetryMs) return { kind: 'giveUp' };
  const delayMs = jittered(exponentialBackoff(tries + 1, backoff), 0.2, random);
  return { kind: 'later', delayMs, retry: { ...before, tries: tries + 1, since } };
}
