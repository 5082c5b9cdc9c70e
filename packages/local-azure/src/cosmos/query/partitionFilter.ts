import type { Expression, Query, Source } from './ast.ts';
import { parse } from './parse/query.ts';

/** A value of a partition key. */
export type KeyValue = null | boolean | number | string;

/**
 * The values to which a filter limits the property at `path`, or undefined if it may be anything: by `=` and `IN` on values
 * that are given, and their combinations by AND and OR. The service routes a query by these and no others
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/how-to-query-container#in-partition-query).
 *
 * @throws {BadQuery} if the text is not a query
 */
export function keysOfFilter(
  text: string,
  parameters: ReadonlyMap<string, unknown>,
  path: readonly string[],
): KeyValue[] | undefined {
  const query: Query = parse(text);
  const item = itemName(query.sources[0]);
  if (item === undefined || query.where === undefined) return undefined;
  const keys = keysOf(query.where);
  // A filter that contradicts itself names no range at all, and the SDK has no way to ask none.
  return keys === undefined || keys.size === 0 ? undefined : [...keys];

  function keysOf(filter: Expression): ReadonlySet<KeyValue> | undefined {
    if (filter.kind === 'in') return isKey(filter.of) ? valuesOf(filter.list) : undefined;
    if (filter.kind !== 'binary') return undefined;
    const { operator, left, right } = filter;
    if (operator === '=') {
      if (isKey(left)) return valuesOf([right]);
      return isKey(right) ? valuesOf([left]) : undefined;
    }
    if (operator !== 'and' && operator !== 'or') return undefined;
    const [one, other] = [keysOf(left), keysOf(right)];
    if (operator === 'or') return one === undefined || other === undefined ? undefined : one.union(other);
    return one === undefined || other === undefined ? (one ?? other) : one.intersection(other);
  }

  function isKey(expression: Expression): boolean {
    let at = expression;
    for (const name of path.toReversed()) {
      if (at.kind !== 'property' || at.key.kind !== 'literal' || at.key.value !== name) return false;
      at = at.of;
    }
    return at.kind === 'name' && at.name === item;
  }

  function valuesOf(list: readonly Expression[]): ReadonlySet<KeyValue> | undefined {
    const values = list.map((one) => {
      if (one.kind === 'literal') return one.value;
      return one.kind === 'parameter' ? parameters.get(one.name) : undefined;
    });
    return values.every(isKeyValue) ? new Set(values) : undefined;
  }
}

function itemName(source: Source | undefined): string | undefined {
  if (source?.kind !== 'value' || source.of.kind !== 'name') return undefined;
  return source.alias ?? source.of.name;
}

function isKeyValue(value: unknown): value is KeyValue {
  return value === null || ['boolean', 'number', 'string'].includes(typeof value);
}
