/**
 * The figures of a shard, kept in documents beside its invoices so that one transaction changes both:
 *
 *   :figures              how many invoices there are in each status, and the like
 *   :figures:2026-01-31   what was paid, declined, refunded and disputed on a day (UTC)
 *
 * Each has two maps of the same counts: `counts` of the invoices in the database, and `archived` of those that have moved to
 * the archive. Writers only add to the counts, so no two of them conflict. The first writer of a shard creates the first
 * document, and the first of a day that of the day. A document that somebody has removed begins at zero: a recount puts
 * `counts` right.
 */
import { z } from 'zod';
import { tolerantObject } from '../../documents/storedDocuments.ts';
import { systemId } from '../../documents/systemId.ts';

export const standingId = systemId('figures');

/** The id of the figures of a day (`YYYY-MM-DD`). Ids of several days sort as the days do. */
export function dayId(day: string): string {
  return `${standingId}:${day}`;
}

export function isFigureId(id: string): boolean {
  return id === standingId || id.startsWith(`${standingId}:`);
}

const countsSchema = z.record(z.string(), z.number());
const counted = { counts: countsSchema, archived: countsSchema };

export const standingSchema = tolerantObject({
  id: z.literal(standingId),
  shard: z.string(),
  ...counted,
  /** The count `due` has the pending invoices that are due before this time: ISO 8601, UTC. The sweeper moves it on. */
  horizon: z.string(),
  _etag: z.string(),
});
export type StandingFigures = z.infer<typeof standingSchema>;

export const dayFiguresSchema = tolerantObject({
  id: z.string().startsWith(`${standingId}:`),
  shard: z.string(),
  day: z.string(),
  ...counted,
  _etag: z.string(),
});
export type DayFigures = z.infer<typeof dayFiguresSchema>;

/** How far apart horizons are, in milliseconds. What is due on the full five minutes is never counted one by one. */
const stepMs = 300_000;

/** The horizon at `now` (milliseconds): ISO 8601. Between the two at most five minutes are counted one by one. */
export function horizonAt(now: number): string {
  return new Date((Math.floor(now / stepMs) + 1) * stepMs).toISOString();
}

/** Figures, as they are first stored. */
interface NewFigures {
  readonly id: string;
  readonly shard: string;
  readonly [field: string]: unknown;
}

/** `now`: milliseconds. */
export function newStanding(shard: string, now: number): NewFigures {
  return { id: standingId, shard, type: 'figures', counts: {}, archived: {}, horizon: horizonAt(now) };
}

export function newDay(
  shard: string,
  day: string,
  counts: Readonly<Record<string, number>> = {},
): NewFigures {
  return { id: dayId(day), shard, type: 'figures', day, counts, archived: {} };
}
