import { as, type KnownKind, type TypedSql, toJson } from '../compile/typedSql.ts';

/** A function that SQLite calls in JavaScript. `any` values cross as JSON text and arrive parsed. */
export type ScalarFunction = {
  kind: 'scalar';
  parameters: readonly (KnownKind | 'any')[];
  /** How many arguments must be given; the last parameter may repeat where `variadic` is set. */
  required: number;
  variadic: boolean;
  result: KnownKind | 'any';
  body: (...args: never[]) => unknown;
};

/** A function that is SQL itself. */
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
 * A function over arguments of known types, undefined where one of them is undefined or of another type, and
 * where the body gives undefined.
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

/** The argument as the SQL function behind a scalar function takes it. */
export function argumentSql(kind: KnownKind | 'any', value: TypedSql): string {
  return kind === 'any' ? toJson(value) : as(kind, value);
}
