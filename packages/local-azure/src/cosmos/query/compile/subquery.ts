import type { Query } from '../ast.ts';
import { UnsupportedQuery } from '../errors.ts';
import { holdsAggregate } from './aggregates.ts';
import type { Compilation } from './compilation.ts';
import type { Scope } from './scope.ts';
import { ofJson, type TypedSql } from './typedSql.ts';

export function existsIn(query: Query, outer: Scope, to: Compilation): string {
  return `EXISTS (${to.rowsOf(query, outer)})`;
}

export function arrayFrom(query: Query, outer: Scope, to: Compilation): string {
  return collected(to.rowsOf(query, outer));
}

/** The results of a subquery as one JSON array, in order. */
export function collected(rows: string): string {
  return `(SELECT '[' || coalesce(group_concat(j, ','), '') || ']' FROM (${rows}))`;
}

/** A scalar subquery must be unable to yield several values: an aggregate, or nothing to iterate over. */
export function scalarFrom(query: Query, outer: Scope, to: Compilation): TypedSql {
  const single =
    query.sources.length === 0 || (query.groupBy.length === 0 && holdsAggregate(query.projection));
  if (query.projection.kind !== 'value' || !single) {
    throw new UnsupportedQuery(
      'a scalar subquery that is neither SELECT VALUE of an aggregate nor without FROM',
    );
  }
  return ofJson(`(${to.rowsOf(query, outer)})`);
}
