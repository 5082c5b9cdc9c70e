/**
 * The schedule by which all instances share the rate of one limit, such as the charges of a payment account. It is one
 * document, and an instance with calls to make reserves a stretch of it:
 *
 *   past ── slots that were granted ──► next ── free ──►
 *
 * `next` only ever moves forward, so no two instances get the same slot, and nobody has to know how many instances there
 * are. Time that nobody used is gone: it never becomes credit. This is GCRA (ITU-T I.371), many slots at a time.
 *
 * The pace follows what the provider takes; see `endOfWindow`. docs/pace.md explains both with measured curves.
 */

import type { Clock } from '@payonce/leases/clock';
import type { Schedule } from './paceStore.ts';

/** The pace is never cut below this share of the ceiling, so that something is always tried. */
export const slowestShare = 0.01;

/** Growth of the pace after a cut, at first: 0.2 % per second. */
const firstGrowth = 0.002;

/** Time for which the pace is held after a cut, at first (ms). */
const firstHoldMs = 10_000;

/** The schedule of a limit that nobody has used yet, with `ceiling` slots per second. */
export function newSchedule(ceiling: number, now: number): Schedule {
  return {
    next: now,
    pace: ceiling,
    epoch: 1,
    at: now,
    holdUntil: 0,
    window: { since: now, answered: 0, refused: 0 },
    last: { rate: 0, refusedShare: 0 },
    trim: { strikes: 0, limit: 0, holdMs: firstHoldMs, heldUntil: 0, growth: firstGrowth },
  };
}

/** A slot: a call may begin at `at`, on the shared clock. */
export interface Slot {
  readonly at: number;
  readonly epoch: number;
}

/** The slots of a stretch of `count` that begins at `from`. */
export function slotsOf(
  { pace, epoch }: Pick<Schedule, 'pace' | 'epoch'>,
  from: number,
  count: number,
): Slot[] {
  return Array.from({ length: count }, (_, index) => ({ at: from + (index * 1000) / pace, epoch }));
}

/** The length of one stretch, in milliseconds, while nothing is reserved ahead; it shrinks to the shortest as that grows. */
const stretchMs = { longest: 500, shortest: 100 };

/** Bounds for the length of an instance's stretch, as a multiple of that of an average instance. */
const weights = { least: 0.25, most: 4 };

/**
 * Calculates the number of slots to reserve in one request. Long stretches spare requests; short ones mix the instances better,
 * once much is reserved ahead. An instance with more calls ahead reserves more: the queue hands out batches unevenly, and the
 * claims of the last would go stale. Pure.
 */
export function stretchOf({
  pace,
  aheadMs,
  storeMs,
  wanted,
  weight = 1,
}: {
  pace: number;
  /** Time from now to the end of what is reserved in the schedule (ms). */
  aheadMs: number;
  /** Time that the store takes to answer (ms): a stretch has to last for some requests, or they would pile up. */
  storeMs: number;
  wanted: number;
  /** Calls ahead of this instance, over the average. */
  weight?: number;
}): number {
  const shrunk = stretchMs.longest / (1 + Math.max(0, aheadMs) / 1000);
  const share = Math.min(weights.most, Math.max(weights.least, weight));
  const even = Math.max(stretchMs.shortest, shrunk, 4 * storeMs);
  const length = even * Math.min(share, Math.max(1, stretchMs.longest / even));
  return Math.max(1, Math.min(wanted, Math.ceil((pace * length) / 1000)));
}

/**
 * The pace follows what the provider takes:
 *
 *   at the ceiling, or growing ──too much refused──► cut and held ──time is up──► growing ──► at the ceiling
 *                        ▲                                │ ▲
 *                        └────────────────────────────────┘ └─ refused again at about the same pace: held for twice as long
 *
 * The first instance to notice that a window is over moves it for all of them, in the one document that they share. So a
 * refusal that one instance meets slows down all of them, once.
 */

/** A window is over after the shortest time (ms) and so many answers, after the longest, or when a lot is refused. */
const windowOf = { shortestMs: 4_000, calls: 100, longestMs: 20_000 };

/** Too much: a little in two windows in a row, as one stall of one instance must not slow down the fleet; or a lot in one. */
const little = { refused: 3, share: 0.02 };
const lot = { refused: 10, share: 0.2 };

/** Share of the accepted pace that is kept after a cut. */
const margin = 0.99;

const longestHoldMs = 60_000;
/** Growth rises by this factor in the time of a shortest window, once the pace is well above the limit last met. */
const speedUp = 1.5;
const fastestGrowth = 0.05;
/** Two limits are the same, and the pace is still not well above one, within this share. */
const near = 0.05;

/** Changes at the end of a window. */
type EndedWindow = Pick<Schedule, 'pace' | 'epoch' | 'window' | 'last' | 'trim'>;

/** The end of the current window at `now`; undefined while it is not over. Pure. */
export function endOfWindow(schedule: Schedule, ceiling: number, now: number): EndedWindow | undefined {
  const { window, trim } = schedule;
  const lengthMs = now - window.since;
  const share = window.answered === 0 ? 0 : window.refused / window.answered;
  const over = (bound: typeof little) => window.refused >= bound.refused && share > bound.share;
  if (lengthMs < windowOf.shortestMs) return undefined;
  if (window.answered < windowOf.calls && lengthMs < windowOf.longestMs && !over(lot)) return undefined;
  const { reserved = 0, ahead = 0 } = window;
  const averageAhead = reserved === 0 ? {} : { ahead: ahead / reserved };
  const ended = {
    epoch: schedule.epoch,
    window: { since: now, answered: 0, refused: 0, reserved: 0, ahead: 0 },
    last: { rate: (window.answered * 1000) / lengthMs, refusedShare: share, ...averageAhead },
  };
  if (over(lot) || (over(little) && trim.strikes > 0)) {
    const pace = Math.max(ceiling * slowestShare, schedule.pace * (1 - share) * margin);
    const isNear = Math.abs(pace - trim.limit) <= near * trim.limit;
    const holdMs = isNear ? Math.min(longestHoldMs, trim.holdMs * 2) : firstHoldMs;
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

function grown({ pace, trim }: Schedule, ceiling: number, seconds: number, now: number): number {
  if (trim.limit === 0) return ceiling;
  if (now < trim.heldUntil) return Math.min(pace, ceiling);
  return Math.min(ceiling, pace * (1 + trim.growth) ** seconds);
}

/**
 * The time that instances agree on (ms since the epoch). It runs with the monotonic clock and jumps forward to the fastest
 * clock, so clock skew costs nothing: 0.2 s of it would cost 15 % of the rate (docs/pace.md).
 */
export interface SharedClock {
  now(): number;
  /** Catches up with an instance whose clock showed `time`. */
  catchUp(time: number): void;
}

export function sharedClock(clock: Clock): SharedClock {
  let offset = clock.now() - clock.monotonic();
  return {
    now: () => clock.monotonic() + offset,
    catchUp(time) {
      offset = Math.max(offset, time - clock.monotonic());
    },
  };
}
