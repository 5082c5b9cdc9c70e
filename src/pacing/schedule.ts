/**
 * The schedule by which all instances share the rate of one limit, such as the charges of a payment account. It is one
 * document, and an instance with calls to make reserves a stretch of it:
 *
 *   past ── slots that were granted ──► next ── free ──►
 *
 * `next` only ever moves forward, so no two instances get the same slot, and nobody has to know how many instances there
 * are. Time that nobody used is gone: it never becomes credit. This is GCRA (ITU-T I.371), many slots at a time.
 *
 * The pace follows what the provider takes; see trim.ts. docs/pace.md explains both with measured curves.
 */
import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/** Times are milliseconds since the epoch, on the clock that the instances share (sharedClock.ts). */
export const scheduleSchema = tolerantObject({
  /** When the first free slot begins. */
  next: z.number(),
  /** Slots per second. */
  pace: z.number().positive(),
  /** Rises when the pace is cut: refusals of calls whose slots were granted before no longer count. */
  epoch: z.int(),
  /** The latest time at which an instance reserved something. */
  at: z.number(),
  /** The provider asked for no calls before this time (`Retry-After`). 0: it did not. */
  holdUntil: z.number(),
  /**
   * What became of the calls since `since`. `reserved`: how often an instance reserved something; `ahead`: the sum of the
   * calls that it then had ahead of it.
   */
  window: tolerantObject({
    since: z.number(),
    answered: z.int(),
    refused: z.int(),
    reserved: z.int().exactOptional(),
    ahead: z.int().exactOptional(),
  }),
  /** The window before that: calls per second, the share that was refused, and what an instance had ahead on average. */
  last: tolerantObject({ rate: z.number(), refusedShare: z.number(), ahead: z.number().exactOptional() }),
  trim: tolerantObject({
    /** Windows in a row in which too much was refused. */
    strikes: z.int(),
    /** The pace at which too much was refused last, times what was accepted. 0: the ceiling was never too high. */
    limit: z.number(),
    /** How long the pace is held after a cut, and until when. */
    holdMs: z.number(),
    heldUntil: z.number(),
    /** How fast it grows after that: a share per second. */
    growth: z.number(),
  }),
});
export type Schedule = z.infer<typeof scheduleSchema>;

/** The pace is never cut below this share of the ceiling, so that something is always tried. */
export const slowestShare = 0.01;

/** How fast the pace grows again after a cut, at first: 0.2 % per second. */
export const firstGrowth = 0.002;

/** How long the pace is held after a cut, at first, in milliseconds. */
export const firstHoldMs = 10_000;

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

/** How much longer or shorter than others' the stretch of an instance may be. */
const weights = { least: 0.25, most: 4 };

/**
 * How many slots to reserve in one request. Long stretches spare requests. Short ones mix the instances better, which
 * matters once much is reserved ahead: the stretch then begins so much later. Who has more calls ahead than others reserves
 * more: the queue does not hand out batches evenly, and with equal shares the last would wait until their claims are stale.
 * Pure.
 */
export function stretchOf({
  pace,
  aheadMs,
  storeMs,
  wanted,
  weight = 1,
}: {
  pace: number;
  /** How far ahead of now the schedule is reserved. */
  aheadMs: number;
  /** How long the store takes to answer: a stretch has to last for some requests, or they would pile up. */
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
