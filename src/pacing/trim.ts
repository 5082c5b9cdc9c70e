/**
 * How the pace follows what the provider takes:
 *
 *   at the ceiling, or growing ──too much refused──► cut and held ──time is up──► growing ──► at the ceiling
 *                        ▲                                │ ▲
 *                        └────────────────────────────────┘ └─ refused again at about the same pace: held for twice as long
 *
 * The first instance to notice that a window is over moves it for all of them, in the one document that they share. So a
 * refusal that one instance meets slows down all of them, once.
 */
import { firstGrowth, firstHoldMs, type Schedule, slowestShare } from './schedule.ts';

/**
 * A window is over after this time, in milliseconds, once this many calls were answered: fewer say little about a small
 * share of refusals. It ends in any case after the longest time, and when a lot is refused.
 */
const windowOf = { shortestMs: 4_000, calls: 100, longestMs: 20_000 };

/**
 * What counts as too much. Two windows in a row of a little, because one stall of one instance must not slow down the
 * fleet; or one of a lot.
 */
const little = { refused: 3, share: 0.02 };
const lot = { refused: 10, share: 0.2 };

/** What is kept of the accepted pace after a cut. */
const margin = 0.99;

const longestHoldMs = 60_000;
/** Growth rises by this factor in the time of a shortest window, once the pace is well above the limit last met. */
const speedUp = 1.5;
const fastestGrowth = 0.05;
/** Two limits are the same, and the pace is not yet well above one, within this share. */
const near = 0.05;

/** What ending a window writes. */
export type EndedWindow = Pick<Schedule, 'pace' | 'epoch' | 'window' | 'last' | 'trim'>;

/** The end of the current window at `now`; undefined while it is not over. Pure. */
export function endOfWindow(schedule: Schedule, ceiling: number, now: number): EndedWindow | undefined {
  const { window, trim } = schedule;
  const lengthMs = now - window.since;
  const share = window.answered === 0 ? 0 : window.refused / window.answered;
  const over = (bound: typeof little) => window.refused >= bound.refused && share > bound.share;
  if (lengthMs < windowOf.shortestMs) return undefined;
  if (window.answered < windowOf.calls && lengthMs < windowOf.longestMs && !over(lot)) return undefined;
  const ended = {
    epoch: schedule.epoch,
    window: { since: now, answered: 0, refused: 0, reserved: 0, ahead: 0 },
    last: { rate: (window.answered * 1000) / lengthMs, refusedShare: share, ...averageAhead(window) },
  };
  if (over(lot) || (over(little) && trim.strikes > 0)) {
    const pace = Math.max(ceiling * slowestShare, schedule.pace * (1 - share) * margin);
    const holdMs = isNear(pace, trim.limit) ? Math.min(longestHoldMs, trim.holdMs * 2) : firstHoldMs;
    return {
      ...ended,
      pace: Math.min(ceiling, pace),
      epoch: schedule.epoch + 1,
      trim: { strikes: 0, limit: pace, holdMs, heldUntil: now + holdMs, growth: firstGrowth },
    };
  }
  const strikes = over(little) ? trim.strikes + 1 : 0;
  // A long window was idle for the most part: what the provider takes now is not known.
  const seconds = Math.min(lengthMs, 2 * windowOf.shortestMs) / 1000;
  const pace = grown(schedule, ceiling, seconds, now);
  const faster = strikes === 0 && pace > trim.limit * (1 + near);
  const sped = trim.growth * speedUp ** ((seconds * 1000) / windowOf.shortestMs);
  const growth = faster ? Math.min(fastestGrowth, sped) : trim.growth;
  return { ...ended, pace, trim: { ...trim, strikes, growth } };
}

function averageAhead({ reserved = 0, ahead = 0 }: Schedule['window']): { ahead?: number } {
  return reserved === 0 ? {} : { ahead: ahead / reserved };
}

function grown({ pace, trim }: Schedule, ceiling: number, seconds: number, now: number): number {
  if (trim.limit === 0) return ceiling;
  if (now < trim.heldUntil) return Math.min(pace, ceiling);
  return Math.min(ceiling, pace * (1 + trim.growth) ** seconds);
}

function isNear(pace: number, limit: number): boolean {
  return limit > 0 && Math.abs(pace - limit) <= near * limit;
}
