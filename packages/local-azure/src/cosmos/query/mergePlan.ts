import type { Expression, Projection, Query } from './ast.ts';
import { holdsAggregate } from './compile/aggregates.ts';
import { countOf, newCompilation } from './compile/rows.ts';
import { parse } from './parse/query.ts';
import { aggregatedList, aggregatedValue, fieldsOf, refuse } from './partialAggregates.ts';
import {
  joinParts,
  printExpression,
  printFrom,
  printGroupBy,
  printObject,
  printOrderBy,
  printProjection,
} from './print.ts';

/*
 * Query plans for a container of several partition key ranges. The client sends the rewritten query to each range and merges
 * the answers: it sorts by `orderByItems`, adds up `item`s, and groups by `groupByItems`. What the texts look like and what
 * the members mean follows from the code that reads them: queryExecutionContext/ in @azure/cosmos 4.10, EndpointComponent/
 * and Aggregators/ above all.
 */

/** The filter with which the client resumes a sorted query; the first time it is `true`. */
const resumeFilter = '{documentdb-formattableorderbyquery-filter}';

export interface QueryInfo {
  distinctType: 'None' | 'Unordered';
  top: number | null;
  offset: number | null;
  limit: number | null;
  orderBy: ('Ascending' | 'Descending')[];
  orderByExpressions: string[];
  groupByExpressions: string[];
  groupByAliases: string[];
  aggregates: string[];
  groupByAliasToAggregateType: Record<string, string | null>;
  rewrittenQuery: string;
  hasSelectValue: boolean;
  hasNonStreamingOrderBy: boolean;
}

/** A plan under which the client has nothing to merge. */
export const nothingToMerge: QueryInfo = {
  distinctType: 'None',
  top: null,
  offset: null,
  limit: null,
  orderBy: [],
  orderByExpressions: [],
  groupByExpressions: [],
  groupByAliases: [],
  aggregates: [],
  groupByAliasToAggregateType: {},
  rewrittenQuery: '',
  hasSelectValue: false,
  hasNonStreamingOrderBy: false,
};

/**
 * True if the answers of several ranges have to be merged. The service's gateway answers all other queries by
 * itself, range after range
 * (https://learn.microsoft.com/rest/api/cosmos-db/querying-cosmosdb-resources-using-the-rest-api#queries-that-cannot-be-served-by-gateway).
 *
 * @throws {BadQuery}
 * @throws {UnsupportedQuery} for a subquery that each range would answer by itself
 */
export function needsMerging(text: string): boolean {
  const query = parse(text);
  requireMergeableSource(query);
  return spansItems(query);
}

/** True if results depend on more than one item. */
function spansItems(query: Query): boolean {
  const limited = query.top !== undefined || query.limit !== undefined;
  return query.distinct || limited || query.orderBy.length > 0 || isAggregated(query);
}

/**
 * A client merges only the outer query. Each range would answer a subquery over the container's items from its own items,
 * so the merged numbers would be wrong: DISTINCT would count a value once for each range. A subquery that is joined runs
 * within one item, so it needs no merging.
 */
function requireMergeableSource({ sources: [first] }: Query): void {
  if (first?.of.kind !== 'subquery') return;
  if (spansItems(first.of.query))
    refuse('a subquery in FROM with DISTINCT, TOP, OFFSET, ORDER BY, GROUP BY or an aggregate');
  requireMergeableSource(first.of.query);
}

/**
 * The plan by which a client merges the answers of several ranges.
 *
 * @throws {BadQuery}
 * @throws {UnsupportedQuery} for a query that the stand-in cannot plan
 */
export function mergePlan(text: string, parameters: ReadonlyMap<string, unknown>): QueryInfo {
  const query = parse(text);
  requireMergeableSource(query);
  const values = newCompilation(parameters);
  const count = (of: Expression | undefined) => countOf(of, values) ?? null;
  const [top, offset, limit] = [count(query.top), count(query.offset), count(query.limit)];
  const info = {
    ...nothingToMerge,
    distinctType: query.distinct ? ('Unordered' as const) : ('None' as const),
    top,
    offset,
    limit,
    hasSelectValue: query.projection.kind === 'value',
  };
  // Each range has to give as many results as could be passed over, too.
  const slice = offset === null || limit === null ? '' : `OFFSET 0 LIMIT ${offset + limit}`;
  if (isAggregated(query)) return { ...info, ...aggregatedPlan(query) };
  if (query.orderBy.length > 0) return { ...info, ...sortedPlan(query, top, slice) };
  return slice === '' ? info : { ...info, rewrittenQuery: slicedQuery(query, slice) };
}

function isAggregated(query: Query): boolean {
  return query.groupBy.length > 0 || holdsAggregate(query.projection);
}

function slicedQuery(query: Query, slice: string): string {
  const where = query.where === undefined ? '' : `WHERE ${printExpression(query.where)}`;
  const distinct = query.distinct ? 'DISTINCT' : '';
  return joinParts([
    'SELECT',
    distinct,
    printProjection(query.projection),
    printFrom(query.sources),
    where,
    slice,
  ]);
}

function sortedPlan(query: Query, top: number | null, slice: string): Partial<QueryInfo> {
  if (query.distinct) refuse('DISTINCT with ORDER BY');
  const item = itemName(query);
  const expressions = query.orderBy.map(({ of }) => printExpression(of));
  const sortedBy = `[${expressions.map((text) => `{"item": ${text}}`).join(', ')}]`;
  const { projection } = query;
  const conditions = [
    ...(query.where === undefined ? [] : [printExpression(query.where)]),
    // A value that is undefined is no result.
    ...(projection.kind === 'value' ? [`IS_DEFINED(${printExpression(projection.of)})`] : []),
    `(${resumeFilter})`,
  ];
  return {
    orderBy: query.orderBy.map(({ descending }) => (descending ? 'Descending' : 'Ascending')),
    orderByExpressions: expressions,
    rewrittenQuery: joinParts([
      'SELECT',
      top === null ? '' : `TOP ${top}`,
      `${item}._rid, ${sortedBy} AS orderByItems, ${payloadOf(projection, item)} AS payload`,
      printFrom(query.sources),
      `WHERE ${conditions.join(' AND ')}`,
      printOrderBy(query),
      slice,
    ]),
  };
}

/** The name of the container's item in a query. */
function itemName({ sources: [first] }: Query): string {
  if (first?.kind === 'value' && first.of.kind === 'name') return first.alias ?? first.of.name;
  return refuse('ORDER BY where FROM begins with something else than the item');
}

function payloadOf(projection: Projection, item: string): string {
  switch (projection.kind) {
    case 'star':
      return item;
    case 'value':
      return printExpression(projection.of);
    case 'list':
      return printObject(fieldsOf(projection));
  }
}

function aggregatedPlan(query: Query): Partial<QueryInfo> {
  const { projection, groupBy } = query;
  if (query.distinct) refuse('DISTINCT together with aggregates or GROUP BY');
  if (query.orderBy.length > 0) refuse('ORDER BY together with aggregates');
  if (query.top !== undefined || query.limit !== undefined) refuse('TOP or LIMIT together with aggregates');
  if (projection.kind === 'star') return refuse('SELECT * with GROUP BY');
  const { payload, info } =
    projection.kind === 'value'
      ? aggregatedValue(projection.of, groupBy)
      : aggregatedList(projection, groupBy);
  const groups = `[${groupBy.map((key) => `{"item": ${printExpression(key)}}`).join(', ')}]`;
  const isPlainValue = groupBy.length === 0 && projection.kind === 'value';
  return {
    ...info,
    groupByExpressions: groupBy.map(printExpression),
    rewrittenQuery: joinParts([
      'SELECT',
      isPlainValue ? `VALUE ${payload}` : '',
      isPlainValue ? '' : `${groupBy.length === 0 ? '' : `${groups} AS groupByItems, `}${payload} AS payload`,
      printFrom(query.sources),
      query.where === undefined ? '' : `WHERE ${printExpression(query.where)}`,
      printGroupBy(query),
    ]),
  };
}
