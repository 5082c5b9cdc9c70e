import type { IncomingHttpHeaders } from 'node:http';
import { badRequest, CosmosError, notCovered, subStatus } from './errors.ts';
import { isObject, parseObject } from './json.ts';
import { isTrue } from './operation.ts';
import { BadQuery, UnsupportedQuery } from './query/errors.ts';
import { needsMerging, queryPlan, runQueryToJson } from './query/index.ts';

export interface Query {
  query: string;
  parameters: { name: string; value: unknown }[];
}

/** Parses a query body. @throws {CosmosError} 400 */
export function parseQuery(text: string): Query {
  const { query, parameters } = parseObject(text);
  if (typeof query !== 'string') throw badRequest('The query request has no query text.');
  if (parameters === undefined || parameters === null) return { query, parameters: [] };
  if (!Array.isArray(parameters)) throw badRequest('The parameters of a query must be an array.');
  return {
    query,
    parameters: parameters.map((parameter) => {
      if (!isObject(parameter) || typeof parameter.name !== 'string' || !parameter.name.startsWith('@'))
        throw badRequest('A query parameter must have a name that begins with @.');
      return { name: parameter.name, value: parameter.value };
    }),
  };
}

/** The query engine with the service's errors: 400 for an invalid query, 501 for an unsupported feature. */
export const queryToJson: typeof runQueryToJson = (...args) => translated(() => runQueryToJson(...args));
export const plan: typeof queryPlan = (...args) => translated(() => queryPlan(...args));
export const mustMerge: typeof needsMerging = (text) => translated(() => needsMerging(text));

function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof BadQuery) throw new CosmosError(400, `Message: ${cause.message}`, { cause });
    if (cause instanceof UnsupportedQuery) throw notCovered(`${cause.feature} in queries`);
    throw cause;
  }
}

/** @throws {CosmosError} 400 if the request is for one partition key, and names none */
export function requireCrossPartition(headers: IncomingHttpHeaders): void {
  if (isTrue(headers['x-ms-documentdb-query-enablecrosspartition'])) return;
  throw badRequest(
    'Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to ' +
      'true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.',
  );
}

/** The refusal on which the SDK falls back to the query plan. It has the plan in it. */
export function notServedByGateway(query: Query, ranges: number): CosmosError {
  return new CosmosError(
    400,
    'The provided cross partition query can not be directly served by the gateway. This is a first chance (internal) ' +
      'exception that all newer clients will know how to handle gracefully.',
    {
      subStatus: subStatus.crossPartitionQueryNotServable,
      info: JSON.stringify(plan(query, ranges)),
    },
  );
}
