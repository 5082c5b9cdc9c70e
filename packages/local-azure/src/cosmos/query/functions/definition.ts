import { as, type KnownKind, type TypedSql, toJson } from '../compile/typedSql.ts';

/** A JavaScript function that SQLite calls. `any` arguments pass as JSON text and arrive parsed. */
export type ScalarFunction = {
  kind: 'scalar';
  parameters: readonly (KnownKind | 'any')[];
  /** Minimum number of arguments. */
  required: number;
  /** True if the last parameter may repeat. */
  variadic: boolean;
  result: KnownKind | 'any';
  body: (...args: never[]) => unknown;
};

/** A function that compiles to SQL. */
export type InlineFunction = {
  kind: 'inline';
  required: number;
  most: number;
  compile: (args: readonly TypedSql[]) => TypedSql;
};

export type FunctionTable = Readonly<Record<string, ScalarFunction | InlineFunction>>;

type TypeOf<K> = K extends 'string'
  ? string
  : K extends 'number'
    ? number
    : K extends 'boolean'
      ? boolean
      : K extends 'array'
        ? unknown[]
        : unknown;
type TypesOf<P extends readonly (KnownKind | 'any')[]> = { [I in keyof P]: TypeOf<P[I]> };

/**
 * A function over arguments of known types. It is undefined if an argument is undefined or has another type,
 * or if the body returns undefined.
 */
export function scalar<const P extends readonly (KnownKind | 'any')[]>(
  parameters: P,
  result: KnownKind | 'any',
  body: (...args: TypesOf<P>) => unknown,
  required = parameters.length,
): ScalarFunction {
  return { kind: 'scalar', parameters, required, variadic: false, result, body };
}

export function inline(
  required: number,
  most: number,
  compile: (args: readonly TypedSql[]) => TypedSql,
): InlineFunction {
  return { kind: 'inline', required, most, compile };
}

/** SQL over one argument of a known type. */
export function inlineOf(
  kind: KnownKind,
  result: KnownKind,
  sql: (argument: string) => string,
): InlineFunction {
  return inline(1, 1, ([of]) => ({ kind: result, sql: of === undefined ? 'NULL' : sql(as(kind, of)) }));
}

/** The argument in the form that a scalar function's SQL function takes. */
export function argumentSql(kind: KnownKind | 'any', value: TypedSql): string {
  return kind === 'any' ? toJson(value) : as(kind, value);
}
