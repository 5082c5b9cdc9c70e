import type { Expression } from '../ast.ts';
import { BadQuery } from '../errors.ts';
import { type TypedSql, UNDEFINED } from './typedSql.ts';

/** A JSON value as SQLite takes it: booleans as 0 or 1, arrays and objects as JSON text. */
export type Bound = string | number | null;

/** Names that statements bind besides constants and parameters; `now` is in unix seconds. */
export const NOW = ':now';

/**
 * What one compilation gathers: constants to bind, parameters used, and fresh table aliases. The SQL depends on
 * the parameters' types only, not on their values, unless `fixedValues` says that a value went into the text.
 */
export class Compilation {
  readonly constants: Record<string, Bound> = {};
  readonly usedParameters = new Map<string, string>();
  fixedValues = false;
  readonly #parameters: ReadonlyMap<string, unknown>;
  #aliases = 0;

  constructor(parameters: ReadonlyMap<string, unknown>) {
    this.#parameters = parameters;
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
  switch (typeof value) {
    case 'boolean':
    case 'number':
    case 'string':
      return typeof value as 'boolean' | 'number' | 'string';
    default:
      return Array.isArray(value) ? 'array' : 'object';
  }
}

export function toBound(value: unknown): Bound {
  if (value === null || value === undefined) return null;
  switch (kindOf(value)) {
    case 'boolean':
      return value === true ? 1 : 0;
    case 'number':
      return Number(value);
    case 'string':
      return String(value);
    default:
      return JSON.stringify(value);
  }
}
