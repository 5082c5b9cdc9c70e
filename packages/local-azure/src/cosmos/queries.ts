import type { IncomingHttpHeaders } from 'node:http';
import type { Container } from './container.ts';
import { effectivePartitionKey } from './effectivePartitionKey.ts';
import { badRequest, CosmosError, notCovered, subStatus } from './errors.ts';
import { isIndexedBy, requireSortIndex } from './indexingPolicy.ts';
import { isObject, parseObject } from './json.ts';
import { isTrue } from './operation.ts';
import { BadQuery, UnsupportedQuery } from './query/errors.ts';
import { keysOfFilter, needsMerging, queryPlan, runQueryToJson, type Source } from './query/index.ts';
import type { Range } from './ranges.ts';
import { requireQuerySize } from './validation.ts';

export interface Query {
  query: string;
  parameters: { name: string; value: unknown }[];
}

/** Parses a query body. @throws {CosmosError} 400 */
export function parseQuery(text: string): Query {
  const { query, parameters } = parseObject(text);
  if (typeof query !== 'string') throw badRequest('The query request has no query text.');
  requireQuerySize(query);
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
export const plan = (query: Query, container: Routed) =>
  translated(() =>
    queryPlan(query, { ranges: container.ranges.all.length, keys: keysAskedFor(query, container) }),
  );
export const mustMerge: typeof needsMerging = (text) => translated(() => needsMerging(text));

/** The items that a query is over: those of a partition, of a range, or all of a container. */
export function sourceOf(
  container: Container,
  nowSeconds: number,
  limit: { partition?: string | undefined; range?: number | undefined } = {},
): Source {
  const { table, definition } = container;
  return {
    table: table.name,
    partition: limit.partition,
    range: limit.range,
    nowSeconds,
    isIndexed: (path) => isIndexedBy(definition.indexingPolicy, path),
    requireSortIndex: (sorted) => requireSortIndex(definition.indexingPolicy, sorted),
  };
}

type Routed = Pick<Container, 'ranges' | 'partitionKey'>;

/** The ranges that can hold results, in order: those of the partition keys to which the filter limits the query, or all. */
export function rangesToAsk(query: Query, container: Routed): readonly Range[] {
  const keys = keysAskedFor(query, container);
  const { all } = container.ranges;
  return keys === undefined ? all : all.filter(({ min, max }) => keys.some((key) => key >= min && key < max));
}

/** Effective partition keys. Undefined if the filter leaves all, if the key is hierarchical, or if there is one range anyway. */
function keysAskedFor(query: Query, { ranges, partitionKey }: Routed): string[] | undefined {
  const [path, ...deeper] = partitionKey.paths;
  if (ranges.all.length === 1 || path === undefined || deeper.length > 0) return undefined;
  const given = new Map(query.parameters.map(({ name, value }) => [name, value]));
  const keys = translated(() => keysOfFilter(query.query, given, path));
  return keys?.map((key) => effectivePartitionKey([key]));
}

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
export function notServedByGateway(query: Query, container: Routed): CosmosError {
  return new CosmosError(
    400,
    'The provided cross partition query can not be directly served by the gateway. This is a first chance (internal) ' +
      'exception that all newer clients will know how to handle gracefully.',
    {
      subStatus: subStatus.crossPartitionQueryNotServable,
      info: JSON.stringify(plan(query, container)),
    },
  );
}
