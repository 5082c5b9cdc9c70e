import type { Expression, Projection, Query, SortKey } from '../ast.ts';
import { BadQuery, UnsupportedQuery } from '../errors.ts';
import { holdsAggregate } from './aggregates.ts';
import type { Compilation } from './compilation.ts';
import { compileExpression } from './expression.ts';
import { compileFilter, type FilterFacts, noFacts } from './filter.ts';
import type { ItemTable, Scope } from './scope.ts';
import { compileSources } from './sources.ts';
import { identity, isDefined, objectOf, rankSql, type TypedSql, toJson, valueSql } from './typedSql.ts';

/**
 * A sort key: the rank of its type, then its value. `pinned`: all rows have the same type. `path`: set for a
 * stored property.
 */
export type CompiledSortKey = {
  rank: string;
  value: string;
  descending: boolean;
  pinned: boolean;
  path: string | undefined;
};

/** A SELECT as the pieces of an SQL query. */
export type CompiledSelect = {
  tables: string[];
  conditions: string[];
  /** One result as JSON text. NULL means no result, for a `SELECT VALUE` that is undefined. */
  json: string;
  /** SQL of the grouping keys (GROUP BY or DISTINCT). Empty: no groups, or a single group of all rows. */
  groups: string[];
  aggregated: boolean;
  orderBy: CompiledSortKey[];
  /** SQL that identifies a row: the item's row id and the positions in arrays. */
  ordinals: string[];
  readsItems: boolean;
  facts: FilterFacts;
  groupPaths: string[];
};

export function compileSelect(
  query: Query,
  outer: Scope | undefined,
  items: ItemTable | undefined,
  to: Compilation,
): CompiledSelect {
  const sources = compileSources(query.sources, outer, items, to);
  const rows: Scope = { sees: 'rows', names: sources.names, outer };
  const facts = noFacts();
  const where = query.where === undefined ? [] : [compileFilter(query.where, rows, to, facts)];
  // The plus keeps SQLite from looking the items up by their partition instead.
  const ofItems =
    facts.lookups.length > 0
      ? sources.conditions.map((condition) => condition.replace(/^r\.(?=pk(range)? = )/, '+r.'))
      : sources.conditions;
  const conditions = [...facts.lookups, ...ofItems, ...where];
  const aggregated = query.groupBy.length > 0 || holdsAggregate(query.projection);
  refuseCombinations(query, aggregated);
  const scope: Scope = aggregated ? { sees: 'groups', rows, keys: query.groupBy } : rows;
  const fields = projected(query.projection, query, sources.names, scope, to);
  const keys = query.groupBy.map((key) => compileExpression(key, rows, to));
  const value = fields.kind === 'value' ? fields.value : objectOf(fields.fields);
  if (fields.kind === 'value' && !aggregated && !isAlwaysDefined(value)) conditions.push(isDefined(value));
  const distinct = fields.kind === 'value' ? [fields.value] : fields.fields.map((field) => field.value);
  return {
    tables: sources.tables,
    conditions,
    json: toJson(value),
    groups: (query.distinct ? distinct : keys).flatMap(identity),
    aggregated,
    orderBy: query.orderBy.map((key) => sortKey(key, rows, items !== undefined, facts, to)),
    ordinals: sources.ordinals,
    readsItems: sources.readsItems,
    facts,
    groupPaths: (query.distinct ? distinct : keys).flatMap(storedPath),
  };
}

function refuseCombinations(query: Query, aggregated: boolean): void {
  if (query.distinct && aggregated)
    throw new UnsupportedQuery('DISTINCT together with aggregates or GROUP BY');
  if (query.top !== undefined && query.limit !== undefined) {
    throw new BadQuery("'TOP' can not be used together with 'OFFSET LIMIT'.", query.at, 'SC2101');
  }
  if (query.orderBy.length > 0 && query.groupBy.length > 0) {
    throw new BadQuery("'ORDER BY' is not supported in presence of GROUP BY.", query.at, 'SC2103');
  }
  if (query.orderBy.length > 0 && aggregated) {
    // The service takes it where no more than one value can come of it.
    throw new UnsupportedQuery('ORDER BY together with aggregates');
  }
}

type Projected =
  | { kind: 'value'; value: TypedSql }
  | { kind: 'object'; fields: { name: string; value: TypedSql }[] };

function projected(
  projection: Projection,
  query: Query,
  names: ReadonlyMap<string, TypedSql>,
  scope: Scope,
  to: Compilation,
): Projected {
  switch (projection.kind) {
    case 'star': {
      const [only, ...others] = names.values();
      if (only === undefined || others.length > 0 || query.groupBy.length > 0) {
        throw new BadQuery("'SELECT *' is only valid with a single input set.", projection.at, 'SC2052');
      }
      return { kind: 'value', value: only };
    }
    case 'value':
      return { kind: 'value', value: compileExpression(projection.of, scope, to) };
    case 'list':
      return { kind: 'object', fields: namedFields(projection, scope, to) };
  }
}

function namedFields(
  projection: Projection & { kind: 'list' },
  scope: Scope,
  to: Compilation,
): { name: string; value: TypedSql }[] {
  const names = impliedFieldNames(projection);
  const fields: { name: string; value: TypedSql }[] = [];
  for (const [index, { of }] of projection.items.entries()) {
    const name = names[index] ?? '';
    if (fields.some((field) => field.name === name)) {
      throw new BadQuery(`The property name '${name}' is specified more than once.`, projection.at, 'SC2015');
    }
    fields.push({ name, value: compileExpression(of, scope, to) });
  }
  return fields;
}

/** The names of the fields of a SELECT list: the alias, else the last name of a path, else `$1`, `$2` …. */
export function impliedFieldNames(projection: Projection & { kind: 'list' }): string[] {
  let unnamed = 0;
  return projection.items.map(({ of, alias }) => {
    const implied = alias ?? lastName(of);
    if (implied === undefined) unnamed++;
    return implied ?? `$${unnamed}`;
  });
}

function lastName(of: Expression): string | undefined {
  if (of.kind === 'name') return of.name;
  if (of.kind !== 'property' || of.key.kind !== 'literal') return undefined;
  return typeof of.key.value === 'string' ? of.key.value : undefined;
}

function isAlwaysDefined(value: TypedSql): boolean {
  return value.kind === 'null' || (value.kind === 'object' && value.location?.path === '$');
}

/** As on the service, a query over a container's items can sort only by properties of the item. */
function sortKey(
  key: SortKey,
  scope: Scope,
  ofItems: boolean,
  facts: FilterFacts,
  to: Compilation,
): CompiledSortKey {
  const value = compileExpression(key.of, scope, to);
  const [path] = storedPath(value);
  if (path === undefined && ofItems) {
    const reason =
      'Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.';
    throw new BadQuery(reason, key.at, 'SC2105');
  }
  return {
    rank: rankSql(value),
    value: valueSql(value),
    descending: key.descending,
    pinned: path !== undefined && (value.kind !== 'any' || facts.pinned.has(path)),
    path,
  };
}

function storedPath(value: TypedSql): string[] {
  if (value.kind === 'undefined' || value.kind === 'null') return [];
  return value.location?.stored === true && value.location.path !== '$' ? [value.location.path] : [];
}
