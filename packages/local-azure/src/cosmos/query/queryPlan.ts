import { mergePlan, nothingToMerge } from './mergePlan.ts';
import { parse } from './parse/query.ts';

/** An interval of effective partition keys. */
export interface KeyInterval {
  min: string;
  max: string;
  isMinInclusive: boolean;
  isMaxInclusive: boolean;
}

/** All hashed keys. */
const everything: KeyInterval = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false };

/**
 * Answers a query-plan request: which keys to ask for, and what the client has to do.
 *
 * In a container of one partition key range the stand-in runs the whole query itself, including ORDER BY, DISTINCT,
 * aggregates and paging. The plan then leaves the SDK nothing to merge: the original query, no client-side steps. The SDK
 * passes each page through (ParallelQueryExecutionContext). Over several ranges the client merges (mergePlan.ts).
 *
 * `keys`: the effective partition keys to which the filter limits the query, if it does. As with the service, each is an
 * interval of one key (https://github.com/Azure/azure-sdk-for-rust/pull/4638), and the client asks only the ranges that
 * hold one.
 *
 * @throws {BadQuery} if the text is not a query
 * @throws {UnsupportedQuery} for a query over several ranges that the stand-in cannot plan
 */
export function queryPlan(
  { query, parameters = [] }: { query: string; parameters?: { name: string; value: unknown }[] },
  { ranges, keys }: { ranges: number; keys: readonly string[] | undefined } = { ranges: 1, keys: undefined },
) {
  const given = new Map(parameters.map(({ name, value }) => [name, value]));
  if (ranges === 1) parse(query);
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: ranges === 1 ? nothingToMerge : mergePlan(query, given),
    queryRanges: keys === undefined ? [everything] : keys.toSorted().map(pointOf),
  };
}

function pointOf(key: string): KeyInterval {
  return { min: key, max: key, isMinInclusive: true, isMaxInclusive: true };
}
