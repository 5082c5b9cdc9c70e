import { parse } from './parse/query.ts';

/**
 * Answers a query-plan request. Each container is one physical partition, so the stand-in runs the whole
 * query itself, including ORDER BY, DISTINCT, aggregates and paging. The plan therefore leaves the SDK
 * nothing to merge: one range over all hashed keys, the original query, no client-side steps. The SDK then
 * passes each page through (ParallelQueryExecutionContext).
 *
 * @throws {BadQuery} if the text is not a query
 */
export function queryPlan(query: { query: string }): unknown {
  parse(query.query);
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: {
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
    },
    queryRanges: [{ min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }],
  };
}
