import type { Expression, Query } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import type { ItemTable, Scope } from './scope.ts';
import { type TypedSql, UNDEFINED } from './typedSql.ts';

/** A JSON value in SQLite's terms: booleans are 0 or 1, arrays and objects are JSON text. */
export type Bound = string | number | null;

/** The current time in Unix seconds. Every statement binds it. */
export const NOW = ':now';

/**
 * A subquery as an SQL query with one column, `j`: each result as JSON text. `items` is the container's table
 * if the subquery may read it; otherwise its sources start at names of the outer scope.
 */
export type SubqueryRows = (
  query: Query,
  outer: Scope | undefined,
  items: ItemTable | undefined,
  to: Compilation,
) => string;

/**
 * The state of one compilation: constants to bind, parameters used, fresh table aliases. The SQL depends on the
 * types of the parameters, but not on their values unless `fixedValues` says so.
 */
export class Compilation {
  readonly constants: Record<string, Bound> = {};
  readonly usedParameters = new Map<string, string>();
  fixedValues = false;
  /** The table of the elements of a stored array, or of a property of theirs (`indexes.ts`); undefined if no index covers them. */
  elementsAt: (path: string, property?: string) => string | undefined = () => undefined;
  readonly #parameters: ReadonlyMap<string, unknown>;
  readonly #subqueryRows: SubqueryRows;
  #aliases = 0;

  constructor(parameters: ReadonlyMap<string, unknown>, subqueryRows: SubqueryRows) {
    this.#parameters = parameters;
    this.#subqueryRows = subqueryRows;
  }

  rowsOf(query: Query, outer: Scope | undefined, items?: ItemTable): string {
    return this.#subqueryRows(query, outer, items, this);
  }

  alias(prefix: string): string {
    this.#aliases++;
    return `${prefix}${this.#aliases}`;
  }

  constant(value: string): string {
    const name = `k${Object.keys(this.constants).length}`;
    this.constants[name] = value;
    return `:${name}`;
  }

  parameter(expression: Expression & { kind: 'parameter' }): TypedSql {
    const value = this.#given(expression);
    if (value === undefined) return UNDEFINED;
    if (value === null) return { kind: 'null' };
    let bindName = this.usedParameters.get(expression.name);
    if (bindName === undefined) {
      bindName = `p${this.usedParameters.size}`;
      this.usedParameters.set(expression.name, bindName);
    }
    return { kind: kindOf(value), sql: `:${bindName}` };
  }

  /** The value of a literal or parameter, for places where the SQL text depends on it. */
  fixedValue(expression: Expression): unknown {
    if (expression.kind === 'literal') return expression.value;
    if (expression.kind !== 'parameter') return undefined;
    this.fixedValues = true;
    return this.#given(expression);
  }

  #given(expression: Expression & { kind: 'parameter' }): unknown {
    if (!this.#parameters.has(expression.name)) {
      throw new BadQuery(
        `The query parameter '${expression.name}' has not been supplied.`,
        expression.at,
        'SC2061',
      );
    }
    return this.#parameters.get(expression.name);
  }
}

/** The type of a JSON value that is neither null nor undefined. */
export function kindOf(value: unknown): 'boolean' | 'number' | 'string' | 'array' | 'object' {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'string') return 'string';
  return Array.isArray(value) ? 'array' : 'object';
}

export function toBound(value: unknown): Bound {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}
