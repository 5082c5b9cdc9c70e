import type { Expression } from '../ast.ts';
import type { TypedSql } from './typedSql.ts';

/**
 * What names mean, and where aggregates may stand. `rows` scopes see one row at a time; a `groups` scope sees
 * whole groups: aggregates, and the expressions that it groups by, both computed in its `rows` scope.
 */
export type Scope =
  | { sees: 'rows'; names: ReadonlyMap<string, TypedSql>; outer: Scope | undefined }
  | { sees: 'groups'; rows: Scope; keys: readonly Expression[] };

export function lookUp(scope: Scope | undefined, name: string): TypedSql | undefined {
  if (scope === undefined) return undefined;
  if (scope.sees === 'groups') return lookUp(scope.rows, name);
  return scope.names.get(name) ?? lookUp(scope.outer, name);
}

/** The table that the items of a container are in; `partition`: only those of the bound partition key. */
export type ItemTable = { table: string; partition: boolean };

/** Whether two expressions are written the same, wherever they stand in the text. */
export function sameExpression(left: Expression, right: Expression): boolean {
  return text(left) === text(right);
}

function text(expression: Expression): string {
  return JSON.stringify(expression, (key, value: unknown) => (key === 'at' ? undefined : value));
}
