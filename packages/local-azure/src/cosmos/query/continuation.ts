import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseJsonOrUndefined } from '../json.ts';
import type { Bound } from './compile/compilation.ts';
import type { CompiledSelect } from './compile/select.ts';
import { BadQuery } from './errors.ts';

/**
 * Where a page ended. `after` holds the sort values and ordinals of its last row, so that a write between two
 * pages neither repeats nor hides another row. `skip` is a number of rows, for DISTINCT, GROUP BY and
 * subqueries in FROM, whose rows have no such place. `given` counts the results so far against TOP and LIMIT.
 */
export type Position = { given: number; from: { after: Bound[] } | { skip: number } };

const tokenShape = z.strictObject({
  q: z.string(),
  n: z.int().nonnegative(),
  a: z.array(z.union([z.string(), z.number(), z.null()])).optional(),
  s: z.int().nonnegative().optional(),
});

/** Identifies a query with its parameters and partition. A token is valid for its own query only. */
export function fingerprint(...parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}

export function writeToken(position: Position, query: string): string {
  const { from } = position;
  const place = 'after' in from ? { a: from.after } : { s: from.skip };
  return Buffer.from(JSON.stringify({ q: query, n: position.given, ...place })).toString('base64url');
}

export function readToken(token: string, query: string): Position {
  const parsed = tokenShape.safeParse(parseJsonOrUndefined(Buffer.from(token, 'base64url').toString()));
  if (!parsed.success) throw new BadQuery('Invalid Continuation Token');
  const { q, n, a, s } = parsed.data;
  if (q !== query) throw new BadQuery('The continuation token belongs to another query.');
  return { given: n, from: a === undefined ? { skip: s ?? n } : { after: a } };
}

/** True if rows of this select have a place that stays valid from one statement to the next. */
export function hasPlaces(select: CompiledSelect): boolean {
  return select.readsItems && select.groups.length === 0 && !select.aggregated;
}

/** The columns that make up a row's place, in comparison order. */
export function placeColumns(select: CompiledSelect): string[] {
  return levels(select).map(({ sql }) => sql);
}

/** `compared` is false if all rows have the same value. */
type Level = { sql: string; descending: boolean; compared: boolean };

function levels(select: CompiledSelect): Level[] {
  const sorted = select.orderBy.flatMap(({ rank, value, descending, pinned }) => [
    { sql: rank, descending, compared: !pinned },
    { sql: value, descending, compared: true },
  ]);
  const descending = select.orderBy[0]?.descending === true;
  return [...sorted, ...select.ordinals.map((sql) => ({ sql, descending, compared: true }))];
}

/** A select with the condition that leaves only the rows after a place. */
export type Resumed = { select: CompiledSelect; condition: string };

/**
 * The rows after a place, as selects to run in turn: first the rows whose first sort key has the same type as
 * the place, then the types that follow. (With a single statement SQLite would walk the index from its start
 * to the place.) The place is bound as `:a0`, `:a1`, …; only which of its values are NULL matters here.
 */
export function resume(select: CompiledSelect, place: readonly Bound[]): Resumed[] {
  const [first, ...others] = select.orderBy;
  if (first === undefined) return [{ select, condition: beyondPlace(select, place) }];
  const atLeast = place[1] === null ? '1' : `${first.value} ${first.descending ? '<=' : '>='} :a1`;
  const sameType = { ...select, orderBy: [{ ...first, pinned: true }, ...others] };
  const condition = `${atLeast} AND ${beyondPlace(sameType, place)}`;
  if (first.pinned) return [{ select: sameType, condition }];
  return [
    { select: sameType, condition: `${first.rank} = :a0 AND ${condition}` },
    { select, condition: `${first.rank} ${first.descending ? '<' : '>'} :a0` },
  ];
}

/** A NULL in the place cannot be compared. By then the ranks are equal, and the rank alone decides. */
function beyondPlace(select: CompiledSelect, place: readonly Bound[]): string {
  const all = levels(select);
  if (all.length !== place.length) throw new BadQuery('Invalid Continuation Token');
  let condition = '0';
  for (let index = all.length - 1; index >= 0; index--) {
    const level = all[index];
    if (level === undefined || !level.compared || place[index] === null) continue;
    const beyond = `${level.sql} ${level.descending ? '<' : '>'} :a${index}`;
    condition = condition === '0' ? beyond : `(${beyond} OR (${level.sql} = :a${index} AND ${condition}))`;
  }
  return condition;
}
