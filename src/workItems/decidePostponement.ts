import { exponentialBackoff, jittered } from '../platform/backoff.ts';
import type { WorkItem } from './workItem.ts';

/** What a work item carries from its first failed try on. */
export type Retry = NonNullable<WorkItem['retry']>;

/** What to do with a work item that cannot be done now. */
export type PostponementDecision =
  /** Later: `delayMs` milliseconds from now, with this in it. */
  | { kind: 'later'; delayMs: number; retry: Retry }
  /** It has been refused for long enough. */
  | { kind: 'giveUp' };

/** Milliseconds: 10 s, 20 s, 40 s … 10 min. So each that waits is heard of in every window of an alert. */
const backoff = { base: 10_000, cap: 600_000 };
/** How long a work item is tried that is refused itself, in milliseconds: a day, in which its receiver may be mended. */
export const longestRefusedMs = 24 * 3_600_000;

/**
 * Decides at `now` (milliseconds), given what the item carries from earlier tries. An item that waits for something that is
 * away is never given up; one that is `refused` itself is, a day after it was refused first. Pure but for `random`.
 */
export function decidePostponement(
  before: Retry | undefined,
  { now, refused, random = Math.random }: { now: number; refused: boolean; random?: () => number },
): PostponementDecision {
  const at = new Date(now).toISOString();
  const { tries, since } = before ?? { tries: 0, since: at };
  const refusedSince = before?.refusedSince ?? at;
  if (refused && now - Date.parse(refusedSince) >= longestRefusedMs) return { kind: 'giveUp' };
  const delayMs = jittered(exponentialBackoff(tries + 1, backoff), 0.2, random);
  const refusal = refused ? { refusedSince } : {};
  return { kind: 'later', delayMs, retry: { ...before, ...refusal, tries: tries + 1, since } };
}
