import type { ComparisonOperator, Expression, Query } from '../ast.ts';
import { isComparison, mirrored } from './comparison.ts';
import type { Compilation } from './compilation.ts';
import { compileExpression } from './expression.ts';
import type { Scope } from './scope.ts';
import { as, type Location, RANK, type TypedSql } from './typedSql.ts';

/**
 * Facts that a filter states about stored properties, by path, and that an index can use: `equal` to one
 * value, one of `several`, or in a `range`. `pinned` holds the rank of the only type that passes the filter.
 */
export type FilterFacts = {
  equal: Set<string>;
  several: Set<string>;
  range: Set<string>;
  pinned: Map<string, number>;
  /** Conditions as SQL that look the items up by the elements of an array. */
  lookups: string[];
};

export function noFacts(): FilterFacts {
  return { equal: new Set(), several: new Set(), range: new Set(), pinned: new Map(), lookups: [] };
}

/**
 * A condition as SQL that is true exactly when the condition is true. It does not distinguish false from
 * undefined, which a filter treats alike. A comparison with a known type can then take a form that an index
 * on (rank, value) serves.
 */
export function compileFilter(
  condition: Expression,
  scope: Scope,
  to: Compilation,
  facts: FilterFacts,
): string {
  if (condition.kind === 'binary' && (condition.operator === 'and' || condition.operator === 'or')) {
    const isAnd = condition.operator === 'and';
    const sides = [condition.left, condition.right].map((side) =>
      compileFilter(side, scope, to, isAnd ? facts : noFacts()),
    );
    return `(${sides.join(isAnd ? ' AND ' : ' OR ')})`;
  }
  const compiled = (part: Expression) => compileExpression(part, scope, to);
  if (condition.kind === 'exists') facts.lookups.push(...someElement(condition.query, compiled, to));
  return ofStored(condition, compiled, facts) ?? as('boolean', compiled(condition));
}

/**
 * The items of which an element begins with a text, or has a property that is one: `EXISTS (SELECT … FROM e IN c.array WHERE …)`
 * with `STARTSWITH(e, text)` or `e.name = text`.
 */
function someElement(
  { sources, where }: Query,
  compiled: (part: Expression) => TypedSql,
  to: Compilation,
): string[] {
  const [source, ...others] = sources;
  if (source?.kind !== 'elements' || source.of.kind === 'subquery' || others.length > 0) return [];
  const asked = where === undefined ? undefined : textOfElement(where, source.alias);
  if (asked === undefined) return [];
  const [array, text] = [compiled(source.of), compiled(asked.text)];
  if (!isStored(array) || !isPlain(text) || text.kind !== 'string') return [];
  const elements = to.elementsAt(array.location.path, asked.property);
  if (elements === undefined) return [];
  const test = asked.property === undefined ? withPrefix('value', text.sql) : `value = ${text.sql}`;
  return [`r.rid IN (SELECT rid FROM ${elements} WHERE ${test})`];
}

/** The text that an element begins with, or that a property of it is. */
function textOfElement(
  where: Expression,
  alias: string | undefined,
): { text: Expression; property?: string } | undefined {
  const isElement = (part: Expression | undefined) => part?.kind === 'name' && part.name === alias;
  const isFixed = (part: Expression | undefined) => part?.kind === 'literal' || part?.kind === 'parameter';
  if (where.kind === 'call' && where.name.toUpperCase() === 'STARTSWITH') {
    const [element, text, ...more] = where.args;
    if (text === undefined || more.length > 0) return undefined;
    return isElement(element) && isFixed(text) ? { text } : undefined;
  }
  if (where.kind !== 'binary' || where.operator !== '=' || where.left.kind !== 'property') return undefined;
  const { of, key } = where.left;
  if (!isElement(of) || key.kind !== 'literal' || typeof key.value !== 'string') return undefined;
  return isFixed(where.right) ? { text: where.right, property: key.value } : undefined;
}

/** The indexable form of a condition, if it tests a stored property against values of known types. */
function ofStored(
  condition: Expression,
  compiled: (part: Expression) => TypedSql,
  facts: FilterFacts,
): string | undefined {
  if (condition.kind === 'binary' && isComparison(condition.operator)) {
    const { operator } = condition;
    const [left, right] = [compiled(condition.left), compiled(condition.right)];
    return (
      compareStored(operator, left, right, facts) ?? compareStored(mirrored(operator), right, left, facts)
    );
  }
  if (condition.kind === 'between') {
    const of = compiled(condition.of);
    const low = compareStored('>=', of, compiled(condition.low), facts);
    const high = compareStored('<=', of, compiled(condition.high), facts);
    return low === undefined || high === undefined ? undefined : `(${low} AND ${high})`;
  }
  if (condition.kind === 'in') return oneOf(compiled(condition.of), condition.list.map(compiled), facts);
  if (condition.kind !== 'call' || condition.name.toUpperCase() !== 'STARTSWITH') return undefined;
  const [text, prefix, ...more] = condition.args;
  if (text === undefined || prefix === undefined || more.length > 0) return undefined;
  const range = startsWith(compiled(text), compiled(prefix), facts);
  return range === undefined ? undefined : `(${range} AND ${as('boolean', compiled(condition))})`;
}

type StoredSql = { location: Location } & (
  | { kind: 'any'; rank: string; value: string }
  | { kind: 'string'; sql: string }
);

function isStored(value: TypedSql): value is StoredSql {
  return (value.kind === 'any' || value.kind === 'string') && value.location?.stored === true;
}

type PlainSql = { kind: 'boolean' | 'number' | 'string'; sql: string };

function isPlain(value: TypedSql): value is PlainSql {
  return (
    value.kind === 'boolean' ||
    value.kind === 'number' ||
    (value.kind === 'string' && value.location === undefined)
  );
}

/** `(rank = type AND value ⋚ …)`, or only the second part if the type is already known. */
function ofType(stored: StoredSql, kind: PlainSql['kind'], test: (value: string) => string): string {
  if (stored.kind !== 'any') return stored.kind === kind ? test(stored.sql) : '0';
  return `(${stored.rank} = ${RANK[kind]} AND ${test(stored.value)})`;
}

function compareStored(
  operator: ComparisonOperator,
  stored: TypedSql,
  value: TypedSql,
  facts: FilterFacts,
): string | undefined {
  if (!isStored(stored) || !isPlain(value)) return undefined;
  const { path } = stored.location;
  facts.pinned.set(path, RANK[value.kind]);
  if (operator === '=') facts.equal.add(path);
  else if (operator !== '!=') facts.range.add(path);
  return ofType(stored, value.kind, (sql) => `${sql} ${operator} ${value.sql}`);
}

function oneOf(stored: TypedSql, list: TypedSql[], facts: FilterFacts): string | undefined {
  if (!isStored(stored) || !list.every(isPlain)) return undefined;
  const kinds = [...new Set(list.map(({ kind }) => kind))];
  const [only, ...others] = kinds;
  if (only !== undefined && others.length === 0) {
    facts.several.add(stored.location.path);
    facts.pinned.set(stored.location.path, RANK[only]);
  }
  const tests = kinds.map((kind) => {
    const values = list.filter((item) => item.kind === kind).map((item) => item.sql);
    return ofType(stored, kind, (sql) => `${sql} IN (${values.join(', ')})`);
  });
  return `(${tests.join(' OR ')})`;
}

/** A range that holds every text with this prefix. The caller adds the exact test. */
function startsWith(stored: TypedSql, prefix: TypedSql, facts: FilterFacts): string | undefined {
  if (!isStored(stored) || !isPlain(prefix) || prefix.kind !== 'string') return undefined;
  facts.range.add(stored.location.path);
  facts.pinned.set(stored.location.path, RANK.string);
  return ofType(stored, 'string', (sql) => withPrefix(sql, prefix.sql));
}

function withPrefix(sql: string, prefix: string): string {
  return `${sql} >= ${prefix} AND ${sql} <= (${prefix} || char(1114111, 1114111))`;
}
