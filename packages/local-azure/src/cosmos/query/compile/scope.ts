import type { Expression } from '../ast.ts';
import type { TypedSql } from './typedSql.ts';

/**
 * Meaning of names, and the places where aggregates are allowed. A `rows` scope sees one row at a time. A
 * `groups` scope sees whole groups: aggregates and the grouping expressions, both computed in its `rows`
 * scope.
 */
export type Scope =
  | { sees: 'rows'; names: ReadonlyMap<string, TypedSql>; outer: Scope | undefined }
  | { sees: 'groups'; rows: Scope; keys: readonly Expression[] };

export function lookUp(scope: Scope | undefined, name: string): TypedSql | undefined {
  if (scope === undefined) return undefined;
  if (scope.sees === 'groups') return lookUp(scope.rows, name);
  return scope.names.get(name) ?? lookUp(scope.outer, name);
}

/** The table of a container's items. `within` limits it to the bound partition key, or partition key range. */
export type ItemTable = { table: string; within: 'pk' | 'pkrange' | undefined };

/** True if two expressions are the same apart from their place in the text. */
export function sameExpression(left: Expression, right: Expression): boolean {
  return text(left) === text(right);
}

function text(expression: Expression): string {
  return JSON.stringify(expression, (key, value: unknown) => (key === 'at' ? undefined : value));
}
