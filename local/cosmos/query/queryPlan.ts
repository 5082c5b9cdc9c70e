import { parse } from './parse/query.ts';

/**
 * The answer to a query-plan request. The stand-in keeps every container in one physical partition and so runs
 * the whole query itself, ORDER BY, DISTINCT, aggregates and paging included; the plan therefore asks the SDK
 * to merge nothing: one range over all hashed keys, the original query, no client-side steps. The SDK then hands
 * each page through (ParallelQueryExecutionContext). Throws BadQuery where the text is not a query.
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
