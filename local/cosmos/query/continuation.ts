import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Bound } from './compile/compilation.ts';
import type { CompiledSelect } from './compile/select.ts';
import { BadQuery } from './errors.ts';

/**
 * Where a page ended. `after`: the sort values and ordinals of its last row, so that what is written between
 * two pages neither repeats nor hides another row. `skip`: a number of rows, for DISTINCT, GROUP BY and
 * subqueries in FROM, whose rows have no place of their own. `given`: results so far, counted against TOP and LIMIT.
 */
export type Position = { given: number; from: { after: Bound[] } | { skip: number } };

const tokenShape = z.strictObject({
  q: z.string(),
  n: z.int().nonnegative(),
  a: z.array(z.union([z.string(), z.number(), z.null()])).optional(),
  s: z.int().nonnegative().optional(),
});

/** Tells one query (with its parameters and partition) from another: a token is good for its own only. */
export function fingerprint(...parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}

export function writeToken(position: Position, query: string): string {
  const { from } = position;
  const place = 'after' in from ? { a: from.after } : { s: from.skip };
  return Buffer.from(JSON.stringify({ q: query, n: position.given, ...place })).toString('base64url');
}

export function readToken(token: string, query: string): Position {
  const parsed = tokenShape.safeParse(parseJson(Buffer.from(token, 'base64url').toString()));
  if (!parsed.success) throw new BadQuery('The continuation token is malformed.');
  const { q, n, a, s } = parsed.data;
  if (q !== query) throw new BadQuery('The continuation token belongs to another query.');
  return { given: n, from: a === undefined ? { skip: s ?? n } : { after: a } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a row of this select has a place that outlives the statement. */
export function hasPlaces(select: CompiledSelect): boolean {
  return select.readsItems && select.groups.length === 0 && !select.aggregated;
}

/** The columns that make up a row's place, in the order in which they are compared. */
export function placeColumns(select: CompiledSelect): string[] {
  return levels(select).map(({ sql }) => sql);
}

type Level = { sql: string; descending: boolean };

function levels(select: CompiledSelect): Level[] {
  const sorted = select.orderBy.flatMap(({ rank, value, descending }) => [
    { sql: rank === '' ? '4' : rank, descending },
    { sql: value, descending },
  ]);
  const descending = select.orderBy[0]?.descending === true;
  return [...sorted, ...select.ordinals.map((sql) => ({ sql, descending }))];
}

/**
 * What comes after a place, as conditions to run one after the other: first what shares the first sort key's
 * type with it, then the types that follow. (One condition over both would have SQLite walk the index from its
 * start to the place.) The place is bound as `:a0`, `:a1`, …; here only matters which of its values are NULL.
 */
export function resumeConditions(select: CompiledSelect, place: readonly Bound[]): string[] {
  const beyond = beyondPlace(select, place);
  const [first] = select.orderBy;
  if (first === undefined) return [beyond];
  const bound = place[1] === null ? '1' : `${first.value} ${first.descending ? '<=' : '>='} :a1`;
  const pinned = first.rank === '' || (first.path !== undefined && select.facts.pinned.has(first.path));
  if (pinned) return [`${bound} AND ${beyond}`];
  const sameType = `${first.rank} = :a0 AND ${bound} AND ${beyond}`;
  return [sameType, `${first.rank} ${first.descending ? '<' : '>'} :a0`];
}

/** A value that is NULL in the place cannot be compared; its rank, equal by then, tells all. */
function beyondPlace(select: CompiledSelect, place: readonly Bound[]): string {
  const all = levels(select);
  if (all.length !== place.length) throw new BadQuery('The continuation token is malformed.');
  let condition = '0';
  for (let index = all.length - 1; index >= 0; index--) {
    const level = all[index];
    if (level === undefined || place[index] === null) continue;
    const beyond = `${level.sql} ${level.descending ? '<' : '>'} :a${index}`;
    condition = condition === '0' ? beyond : `(${beyond} OR (${level.sql} = :a${index} AND ${condition}))`;
  }
  return condition;
}
