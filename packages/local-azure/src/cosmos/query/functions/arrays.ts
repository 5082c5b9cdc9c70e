import { as, RANK, type TypedSql } from '../compile/typedSql.ts';
import {
  argumentSql,
  type FunctionTable,
  inline,
  inlineOf,
  type ScalarFunction,
  scalar,
} from './definition.ts';
import { canonical, equal, holds, isObject } from './json.ts';

/** ARRAY_CONTAINS for values that are not plain, registered under a separate SQL name. */
export const arrayContains: ScalarFunction = scalar(
  ['array', 'any', 'boolean'],
  'boolean',
  (array, value, partial) => array.some((item) => (partial ? holds(item, value) : equal(item, value))),
);

export const arrayFunctions: FunctionTable = {
  ARRAY_CONTAINS: inline(2, 3, ([array, value, partial]) => ({
    kind: 'boolean',
    sql: array === undefined || value === undefined ? 'NULL' : containsSql(array, value, partial),
  })),
  ARRAY_CONTAINS_ANY: some((array, values) =>
    values.some((value) => array.some((item) => equal(item, value))),
  ),
  ARRAY_CONTAINS_ALL: some((array, values) =>
    values.every((value) => array.some((item) => equal(item, value))),
  ),
  ARRAY_LENGTH: inlineOf('array', 'number', (array) => `json_array_length(${array})`),
  ARRAY_CONCAT: { ...scalar(['array'], 'array', (...arrays) => arrays.flat(1)), variadic: true, required: 2 },
  /** A negative start counts from the end. A length beyond the end is clamped. */
  ARRAY_SLICE: scalar(
    ['array', 'number', 'number'],
    'array',
    (array, start, length) => {
      const from = start < 0 ? Math.max(array.length + start, 0) : start;
      if (length === undefined) return array.slice(from);
      return length <= 0 ? [] : array.slice(from, from + length);
    },
    2,
  ),
  SETINTERSECT: scalar(['array', 'array'], 'array', (left, right) => {
    const wanted = new Set(right.map(canonical));
    return distinct(left).filter((item) => wanted.has(canonical(item)));
  }),
  SETUNION: scalar(['array', 'array'], 'array', (left, right) => distinct([...left, ...right])),
  SETDIFFERENCE: scalar(['array', 'array'], 'array', (left, right) => {
    const unwanted = new Set(right.map(canonical));
    return distinct(left).filter((item) => !unwanted.has(canonical(item)));
  }),
  SETEQUAL: scalar(
    ['array', 'array'],
    'boolean',
    (left, right) =>
      canonical(distinct(left).map(canonical).sort()) === canonical(distinct(right).map(canonical).sort()),
  ),
  OBJECTTOARRAY: scalar(
    ['object', 'string', 'string'],
    'array',
    (object, key, value) =>
      isObject(object)
        ? Object.entries(object).map(([name, of]) => ({ [key ?? 'k']: name, [value ?? 'v']: of }))
        : undefined,
    1,
  ),
};

function distinct(items: unknown[]): unknown[] {
  return [...new Map(items.map((item) => [canonical(item), item])).values()];
}

function some(test: (array: unknown[], values: unknown[]) => boolean): ScalarFunction {
  const body = (array: unknown[], ...values: unknown[]) => test(array, values);
  return {
    kind: 'scalar',
    parameters: ['array', 'any'],
    required: 2,
    variadic: true,
    result: 'boolean',
    body,
  };
}

function containsSql(array: TypedSql, value: TypedSql, partial: TypedSql | undefined): string {
  if (value.kind !== 'boolean' && value.kind !== 'number' && value.kind !== 'string') {
    const whole = partial === undefined ? '0' : as('boolean', partial);
    return `cosmos_array_contains(${as('array', array)}, ${argumentSql('any', value)}, ${whole})`;
  }
  const types = { boolean: `('true', 'false')`, number: `('integer', 'real')`, string: `('text')` }[
    value.kind
  ];
  const test = `type IN ${types} AND value = ${value.sql}`;
  const found = (each: string) => `EXISTS (SELECT 1 FROM json_each(${each}) WHERE ${test})`;
  // No index can help here, so keep the SQL short and avoid materializing the array as text.
  if (array.kind === 'any' && array.location !== undefined) {
    const { json, path } = array.location;
    return `CASE WHEN ${array.rank} = ${RANK.array} THEN ${found(`${json}, '${path.replaceAll("'", "''")}'`)} END`;
  }
  const text = as('array', array);
  return `CASE WHEN ${text} IS NOT NULL THEN ${found(text)} END`;
}
