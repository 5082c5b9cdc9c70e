import { mergePlan, nothingToMerge } from './mergePlan.ts';
import { parse } from './parse/query.ts';

/**
 * Answers a query-plan request: one interval over all hashed keys, and what the client has to do.
 *
 * In a container of one partition key range the stand-in runs the whole query itself, including ORDER BY, DISTINCT,
 * aggregates and paging. The plan then leaves the SDK nothing to merge: the original query, no client-side steps. The SDK
 * passes each page through (ParallelQueryExecutionContext). Over several ranges the client merges (mergePlan.ts). The
 * interval is never narrowed by the filter, so the client may ask ranges that hold nothing.
 *
 * @throws {BadQuery} if the text is not a query
 * @throws {UnsupportedQuery} for a query over several ranges that the stand-in cannot plan
 */
export function queryPlan(
  { query, parameters = [] }: { query: string; parameters?: { name: string; value: unknown }[] },
  ranges = 1,
) {
  const given = new Map(parameters.map(({ name, value }) => [name, value]));
  if (ranges === 1) parse(query);
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: ranges === 1 ? nothingToMerge : mergePlan(query, given),
    queryRanges: [{ min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }],
  };
}
