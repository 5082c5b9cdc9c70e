import { as, isDefined, RANK, rankSql, type TypedSql, valueSql } from '../compile/typedSql.ts';
import { type FunctionTable, type InlineFunction, inline, scalar } from './definition.ts';

/** A type check is never undefined: it is false for an undefined value. */
const check = (test: (value: TypedSql) => string): InlineFunction =>
  inline(1, 1, ([of]) => ({ kind: 'boolean', sql: of === undefined ? '0' : test(of) }));

const hasRank = (rank: number): InlineFunction => check((value) => `(${rankSql(value)} = ${rank})`);

/** Parses the text as JSON. Undefined if it is not JSON or not of the wanted type. */
const parsedAs =
  (wanted: (value: unknown) => boolean) =>
  (text: string): unknown => {
    try {
      const value: unknown = JSON.parse(text);
      return wanted(value) ? value : undefined;
    } catch {
      return undefined;
    }
  };

export const typeFunctions: FunctionTable = {
  IS_DEFINED: check(isDefined),
  IS_NULL: hasRank(RANK.null),
  IS_BOOL: hasRank(RANK.boolean),
  IS_NUMBER: hasRank(RANK.number),
  IS_FINITE_NUMBER: hasRank(RANK.number),
  IS_STRING: hasRank(RANK.string),
  IS_ARRAY: hasRank(RANK.array),
  IS_OBJECT: hasRank(RANK.object),
  IS_PRIMITIVE: check((value) => `(${rankSql(value)} BETWEEN ${RANK.null} AND ${RANK.string})`),
  IS_INTEGER: check(
    (value) => `(${rankSql(value)} = ${RANK.number} AND ${valueSql(value)} = trunc(${as('number', value)}))`,
  ),
  TOSTRING: scalar(['any'], 'string', (value) => (typeof value === 'string' ? value : JSON.stringify(value))),
  STRINGTONUMBER: scalar(['string'], 'number', (text) =>
    parsedAs((value) => typeof value === 'number')(text.trim()),
  ),
  STRINGTOBOOLEAN: scalar(['string'], 'boolean', (text) =>
    parsedAs((value) => typeof value === 'boolean')(text.trim()),
  ),
  STRINGTONULL: scalar(
    ['string'],
    'any',
    parsedAs((value) => value === null),
  ),
  STRINGTOARRAY: scalar(['string'], 'array', parsedAs(Array.isArray)),
  STRINGTOOBJECT: scalar(
    ['string'],
    'object',
    parsedAs((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  ),
  /** IIF(condition, then, else): any condition but true picks `else`. */
  IIF: inline(3, 3, ([condition, whenTrue, otherwise]) => {
    if (!condition || !whenTrue || !otherwise) return { kind: 'undefined' };
    const when = `CASE WHEN ${as('boolean', condition)} THEN`;
    return {
      kind: 'any',
      rank: `${when} ${rankSql(whenTrue)} ELSE ${rankSql(otherwise)} END`,
      value: `${when} ${valueSql(whenTrue)} ELSE ${valueSql(otherwise)} END`,
    };
  }),
};
