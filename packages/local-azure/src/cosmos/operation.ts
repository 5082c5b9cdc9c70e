import type { IncomingHttpHeaders } from 'node:http';
import { CosmosError, notCovered } from './errors.ts';
import type { Route } from './route.ts';

/** Operations that read or write items and cost request units. */
export const dataOperations = [
  'create',
  'upsert',
  'read',
  'replace',
  'patch',
  'delete',
  'batch',
  'bulk',
  'query',
  'readFeed',
  'changeFeed',
] as const;
export type DataOperation = (typeof dataOperations)[number];

/** Operations on the account, definitions and routing. No partition serves query plans, so they belong here. */
export const metadataOperations = [
  'readAccount',
  'listDatabases',
  'createDatabase',
  'readDatabase',
  'deleteDatabase',
  'listContainers',
  'createContainer',
  'readContainer',
  'replaceContainer',
  'deleteContainer',
  'readPartitionKeyRanges',
  'queryPlan',
] as const;
export type MetadataOperation = (typeof metadataOperations)[number];

export type Operation = DataOperation | MetadataOperation;

export const isDataOperation = (operation: Operation): operation is DataOperation =>
  dataOperations.some((name) => name === operation);

const writes: ReadonlySet<DataOperation> = new Set([
  'create',
  'upsert',
  'replace',
  'patch',
  'delete',
  'batch',
  'bulk',
]);

/** A batch counts as a write, whatever it contains. */
export const isWrite = (operation: DataOperation): boolean => writes.has(operation);

const byMethod: Record<Exclude<Route['kind'], 'items'>, Partial<Record<string, Operation>>> = {
  account: { GET: 'readAccount' },
  databases: { GET: 'listDatabases', POST: 'createDatabase' },
  database: { GET: 'readDatabase', DELETE: 'deleteDatabase' },
  containers: { GET: 'listContainers', POST: 'createContainer' },
  container: { GET: 'readContainer', PUT: 'replaceContainer', DELETE: 'deleteContainer' },
  ranges: { GET: 'readPartitionKeyRanges' },
  item: { GET: 'read', PUT: 'replace', PATCH: 'patch', DELETE: 'delete' },
};

/**
 * Determines the operation that a request asks for.
 *
 * @throws {CosmosError} 501 for a feature that is not covered, 405 for a method that the resource does not
 *   support
 */
export function operationOf(route: Route, method: string, headers: IncomingHttpHeaders): Operation {
  refuseUncovered(headers);
  if (route.kind === 'items') return itemsOperation(method, headers);
  if (route.kind !== 'item' && isTrue(headers['x-ms-documentdb-isquery']))
    throw notCovered('queries over databases and containers');
  const operation = byMethod[route.kind][method];
  if (operation === undefined) throw notAllowed(method);
  return operation;
}

function itemsOperation(method: string, headers: IncomingHttpHeaders): DataOperation | 'queryPlan' {
  if (method === 'GET') return headers['a-im'] === undefined ? 'readFeed' : 'changeFeed';
  if (method !== 'POST') throw notAllowed(method);
  if (isTrue(headers['x-ms-cosmos-is-query-plan-request'])) return 'queryPlan';
  if (isTrue(headers['x-ms-cosmos-is-batch-request']))
    return isTrue(headers['x-ms-cosmos-batch-atomic']) ? 'batch' : 'bulk';
  if (isTrue(headers['x-ms-documentdb-isquery'])) return 'query';
  return isTrue(headers['x-ms-documentdb-is-upsert']) ? 'upsert' : 'create';
}

const uncovered: Record<string, string> = {
  'x-ms-documentdb-pre-trigger-include': 'pre-triggers',
  'x-ms-documentdb-post-trigger-include': 'post-triggers',
  'x-ms-indexing-directive': 'indexing directives',
  'x-ms-documentdb-populatequotainfo': 'quota information',
  'x-ms-cosmos-populateindexmetrics-v2': 'index metrics',
  'x-ms-cosmos-is-client-encrypted': 'client-side encryption',
  'x-ms-start-epk': 'feed ranges smaller than a partition key range',
};

function refuseUncovered(headers: IncomingHttpHeaders): void {
  for (const name in uncovered) {
    const value = headers[name];
    if (value !== undefined && value !== '' && value !== 'false') throw notCovered(uncovered[name] ?? name);
  }
}

export function isTrue(header: string | string[] | undefined): boolean {
  return typeof header === 'string' && header.toLowerCase() === 'true';
}

const notAllowed = (method: string) =>
  new CosmosError(405, `The requested verb ${method} is not supported on this resource.`);
