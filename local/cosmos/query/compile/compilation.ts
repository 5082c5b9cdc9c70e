import type { Expression, Query } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import type { ItemTable, Scope } from './scope.ts';
import { type TypedSql, UNDEFINED } from './typedSql.ts';

/** A JSON value as SQLite takes it: booleans as 0 or 1, arrays and objects as JSON text. */
export type Bound = string | number | null;

/** Names that statements bind besides constants and parameters; `now` is in unix seconds. */
export const NOW = ':now';

/**
 * A subquery as an SQL query of one column, `j`: each result as JSON text. `items` is the container's table
 * where the subquery may read it, else it begins at the names of the outer scope.
 */
export type SubqueryRows = (
  query: Query,
  outer: Scope | undefined,
  items: ItemTable | undefined,
  to: Compilation,
) => string;

/**
 * What one compilation gathers: constants to bind, parameters used, and fresh table aliases. The SQL depends on
 * the parameters' types only, not on their values, unless `fixedValues` says that a value went into the text.
 */
export class Compilation {
  readonly constants: Record<string, Bound> = {};
  readonly usedParameters = new Map<string, string>();
  fixedValues = false;
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

  /** A literal's or parameter's own value, for the places where SQL needs it when it is compiled. */
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
