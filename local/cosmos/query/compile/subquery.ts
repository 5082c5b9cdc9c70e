import type { Expression, Query } from '../ast.ts';
import { BadQuery, UnsupportedQuery } from '../errors.ts';
import { isAggregate } from './aggregates.ts';
import type { Compilation } from './compilation.ts';
import { renderRows } from './render.ts';
import type { Scope } from './scope.ts';
import { compileSelect } from './select.ts';
import type { ItemTable } from './sources.ts';
import { ofJson, type TypedSql } from './typedSql.ts';

/** A subquery as an SQL query of one column, `j`: each result as JSON text. */
export function rowsOf(
  query: Query,
  outer: Scope | undefined,
  items: ItemTable | undefined,
  to: Compilation,
): string {
  const select = compileSelect(query, outer, items, to);
  const top = countOf(query.top, to) ?? countOf(query.limit, to) ?? -1;
  const offset = countOf(query.offset, to) ?? 0;
  return renderRows(select, [], `LIMIT ${top} OFFSET ${offset}`);
}

export function existsIn(query: Query, outer: Scope, to: Compilation): string {
  return `EXISTS (${rowsOf(query, outer, undefined, to)})`;
}

export function arrayFrom(query: Query, outer: Scope, to: Compilation): string {
  return collected(rowsOf(query, outer, undefined, to));
}

/** The results of a subquery as one JSON array, in their order. */
export function collected(rows: string): string {
  return `(SELECT '[' || coalesce(group_concat(j, ','), '') || ']' FROM (${rows}))`;
}

/** Only where a subquery cannot give more than one value is it one: an aggregate, or nothing to iterate. */
export function scalarFrom(query: Query, outer: Scope, to: Compilation): TypedSql {
  const single =
    query.sources.length === 0 || (query.groupBy.length === 0 && holdsAggregate(query.projection));
  if (query.projection.kind !== 'value' || !single) {
    throw new UnsupportedQuery(
      'a scalar subquery that is neither SELECT VALUE of an aggregate nor without FROM',
    );
  }
  return ofJson(`(${rowsOf(query, outer, undefined, to)})`);
}

/** Whether an expression (or projection) calls an aggregate, subqueries aside. */
export function holdsAggregate(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  if (Array.isArray(part)) return part.some(holdsAggregate);
  const node = part as Expression;
  if (node.kind === 'exists' || node.kind === 'arrayOf' || node.kind === 'scalar') return false;
  if (node.kind === 'call' && isAggregate(node.name)) return true;
  return Object.values(part).some(holdsAggregate);
}

/** The number behind TOP, OFFSET or LIMIT. */
export function countOf(expression: Expression | undefined, to: Compilation): number | undefined {
  if (expression === undefined) return undefined;
  const count = to.fixedValue(expression);
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count;
  const at = 'at' in expression ? expression.at : undefined;
  throw new BadQuery('TOP, OFFSET and LIMIT take a whole number that is not negative.', at, 'SC2062');
}
