import type { Expression, Projection } from './ast.ts';
import { isAggregate } from './compile/aggregates.ts';
import { sameExpression } from './compile/scope.ts';
import { impliedFieldNames } from './compile/select.ts';
import { UnsupportedQuery } from './errors.ts';
import { printExpression } from './print.ts';

/*
 * Each partition key range's part of the aggregates of a query that spans several, in the form in which the
 * client adds it up (queryExecutionContext/Aggregators/ in @azure/cosmos 4.10).
 */

/** Names of the aggregates in a plan. */
const aggregateTypes: Readonly<Record<string, string>> = {
  COUNT: 'Count',
  COUNTIF: 'CountIf',
  SUM: 'Sum',
  AVG: 'Average',
  MIN: 'Min',
  MAX: 'Max',
};

/** @throws {UnsupportedQuery} */
export function refuse(feature: string): never {
  throw new UnsupportedQuery(`${feature} over several partition key ranges`);
}

/** The fields of a SELECT list with their names. */
export function fieldsOf(projection: Projection & { kind: 'list' }): { name: string; value: Expression }[] {
  const names = impliedFieldNames(projection);
  return projection.items.map(({ of }, index) => ({ name: names[index] ?? '', value: of }));
}

/** A single value: an aggregate, or a key of the group. */
export function aggregatedValue(of: Expression, groupBy: readonly Expression[]) {
  const type = aggregateOf(of);
  if (type === undefined && !isKey(of, groupBy)) refuse('an expression over aggregates');
  return {
    payload: type === undefined ? printExpression(of) : `[${partialOf(of)}]`,
    info: { aggregates: type === undefined ? [] : [type] },
  };
}

/** A list of aggregates and keys. */
export function aggregatedList(projection: Projection & { kind: 'list' }, groupBy: readonly Expression[]) {
  const fields = fieldsOf(projection);
  const types = fields.map(({ name, value }) => {
    const type = aggregateOf(value) ?? null;
    if (type === null && !isKey(value, groupBy)) refuse('an expression over aggregates');
    return [name, type] as const;
  });
  const members = fields.map(
    ({ name, value }) =>
      `${JSON.stringify(name)}: ${aggregateOf(value) === undefined ? printExpression(value) : partialOf(value)}`,
  );
  return {
    payload: `{${members.join(', ')}}`,
    info: {
      groupByAliases: fields.map(({ name }) => name),
      groupByAliasToAggregateType: Object.fromEntries(types),
    },
  };
}

const isKey = (of: Expression, groupBy: readonly Expression[]) =>
  groupBy.some((key) => sameExpression(key, of));

/** The plan's name for an expression that is an aggregate and nothing else. */
function aggregateOf(of: Expression): string | undefined {
  return of.kind === 'call' && isAggregate(of.name) ? aggregateTypes[of.name.toUpperCase()] : undefined;
}

/** Prints the expression by which each range computes its part of an aggregate. */
function partialOf(of: Expression): string {
  if (of.kind !== 'call') return refuse('an expression over aggregates');
  const args = of.args.map(printExpression).join(', ');
  const name = of.name.toUpperCase();
  if (name === 'AVG') return `{"item": {"sum": SUM(${args}), "count": COUNT(${args})}}`;
  if (name === 'MIN') return `{"item": {"min": MIN(${args}), "count": COUNT(${args})}}`;
  if (name === 'MAX') return `{"item": {"max": MAX(${args}), "count": COUNT(${args})}}`;
  return `{"item": ${name}(${args})}`;
}
