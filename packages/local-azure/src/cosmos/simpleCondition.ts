import { isObject, type JsonObject, type JsonValue } from './json.ts';
import type { ComparisonOperator, Expression, Query } from './query/ast.ts';
import { isComparison, mirrored } from './query/compile/comparison.ts';
import { parse } from './query/parse/query.ts';

/** True if an item meets a condition; undefined if only the query engine can tell. */
export type SimpleCondition = (item: JsonObject) => boolean | undefined;

const maxKept = 500;
/** Comparisons of a simple condition. The query engine refuses conditions that are too deep. */
const maxTests = 20;

/**
 * Conditions that need no query: `FROM c WHERE c.a.b = 'x' AND c.n >= 5`, comparisons of properties with
 * strings or whole numbers. On all others, and on values that SQLite could see differently, the query engine
 * decides.
 */
export function createSimpleConditions(): (condition: string) => SimpleCondition | undefined {
  const kept = new Map<string, SimpleCondition | undefined>();
  return (condition) => {
    const found = kept.get(condition);
    if (found !== undefined || kept.has(condition)) return found;
    if (kept.size >= maxKept) kept.clear();
    const simple = simpleCondition(condition);
    kept.set(condition, simple);
    return simple;
  };
}

export function simpleCondition(condition: string): SimpleCondition | undefined {
  const query = parsed(condition);
  const name = query && nameOfItem(query);
  if (query?.where === undefined || name === undefined) return undefined;
  const tests = conjuncts(query.where).map((each) => testOf(each, name));
  if (tests.length > maxTests || !tests.every((test) => test !== undefined)) return undefined;
  return (item) => {
    const answers = tests.map((test) => test(item));
    return answers.includes(undefined) ? undefined : !answers.includes(false);
  };
}

/** A text that does not parse is for the query engine to refuse. */
function parsed(condition: string): Query | undefined {
  try {
    return parse(`SELECT VALUE 1 ${condition}`);
  } catch {
    return undefined;
  }
}

/** `c` of `FROM c`, if the query has no clause but WHERE. */
function nameOfItem(query: Query): string | undefined {
  const { sources, projection, groupBy, orderBy, offset } = query;
  const [source] = sources;
  const other = groupBy.length + orderBy.length > 0 || offset !== undefined || sources.length !== 1;
  if (other || projection.kind !== 'value' || projection.of.kind !== 'literal') return undefined;
  if (source?.kind !== 'value' || source.alias !== undefined || source.of.kind !== 'name') return undefined;
  return source.of.name;
}

function conjuncts(expression: Expression): Expression[] {
  return expression.kind === 'binary' && expression.operator === 'and'
    ? [...conjuncts(expression.left), ...conjuncts(expression.right)]
    : [expression];
}

function testOf(expression: Expression, name: string): SimpleCondition | undefined {
  if (expression.kind !== 'binary' || !isComparison(expression.operator)) return undefined;
  const { operator, left, right } = expression;
  return left.kind === 'literal'
    ? comparison(mirrored(operator), right, left.value, name)
    : right.kind === 'literal'
      ? comparison(operator, left, right.value, name)
      : undefined;
}

function comparison(
  operator: ComparisonOperator,
  property: Expression,
  literal: JsonValue,
  name: string,
): SimpleCondition | undefined {
  const path = pathOf(property, name);
  if (path === undefined) return undefined;
  if (isPlainText(literal) && operator === '=') return (item) => valueAt(item, path) === literal;
  if (!Number.isSafeInteger(literal)) return undefined;
  return (item) => {
    const value = valueAt(item, path);
    if (typeof value !== 'number') return false;
    return Number.isSafeInteger(value) ? compared(operator, value, Number(literal)) : undefined;
  };
}

/** The names of `c.a.b`. The system properties are no part of a parsed item. */
function pathOf(expression: Expression, name: string): string[] | undefined {
  if (expression.kind !== 'property') return undefined;
  const { of, key } = expression;
  if (key.kind !== 'literal' || typeof key.value !== 'string') return undefined;
  if (!/^[A-Za-z]\w*$/.test(key.value)) return undefined;
  if (of.kind === 'name') return of.name === name ? [key.value] : undefined;
  const path = pathOf(of, name);
  return path && [...path, key.value];
}

function valueAt(item: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = item;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** SQLite ends some texts at a NUL, and binds a lone surrogate as another character. */
const isPlainText = (value: JsonValue): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0');

function compared(operator: ComparisonOperator, left: number, right: number): boolean {
  switch (operator) {
    case '=':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}
