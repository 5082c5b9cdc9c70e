import { badRequest, badUrl, CosmosError, notCovered } from './errors.ts';

/** The resource that a path addresses. Ids are decoded. */
export type Route =
  | { kind: 'account' }
  | { kind: 'databases' }
  | { kind: 'database'; database: string }
  | { kind: 'containers'; database: string }
  | { kind: 'container'; database: string; container: string }
  | { kind: 'ranges'; database: string; container: string }
  | { kind: 'items'; database: string; container: string }
  | { kind: 'item'; database: string; container: string; item: string };

/** Type and link of a resource as they enter a request's signature. */
export interface SignedResource {
  type: string;
  link: string;
}

const refused: Record<string, string> = {
  offers: 'offers (throughput)',
  users: 'users and permissions',
  permissions: 'users and permissions',
  sprocs: 'stored procedures',
  triggers: 'triggers',
  udfs: 'user-defined functions',
  conflicts: 'the conflict feed',
  attachments: 'attachments',
  clientencryptionkeys: 'client encryption keys',
  operations: 'deleting all items of a partition key',
};

/** The SDKs do not encode the question mark in an item's id, so there the service reads it as part of the id. */
const addressesItem = /^\/dbs\/[^/?]+\/colls\/[^/?]+\/docs\/[^/]/;

/** A URL without its query string. */
export const pathOf = (url: string): string => url.replace(/\?.*$/s, '');

/**
 * @param url the request's URL without scheme and host, percent-encoded
 * @throws {CosmosError} 501 for a kind of resource that is not covered, 400 for a path that addresses no
 *   resource
 */
export function parseRoute(url: string): { route: Route; signed: SignedResource } {
  const segments = (addressesItem.test(url) ? url : pathOf(url))
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode);
  if (segments.length === 6) segments.push(asGatewayReads(segments.pop() ?? ''));
  const route = routeOf(segments);
  const isFeed = segments.length % 2 === 1;
  const type = segments.at(isFeed ? -1 : -2) ?? '';
  return { route, signed: { type, link: (isFeed ? segments.slice(0, -1) : segments).join('/') } };
}

function routeOf(segments: string[]): Route {
  for (const index of [0, 2, 4, 6]) {
    const feature = refused[segments[index] ?? ''];
    if (feature !== undefined) throw notCovered(feature);
  }
  const [dbs, database, colls, container, leaf, item, ...rest] = segments;
  if (dbs === undefined) return { kind: 'account' };
  if (dbs !== 'dbs' || rest.length > 0) throw unknownPath(segments);
  if (database === undefined) return { kind: 'databases' };
  if (colls === undefined) return { kind: 'database', database };
  if (colls !== 'colls') throw unknownPath(segments);
  if (container === undefined) return { kind: 'containers', database };
  if (leaf === undefined) return { kind: 'container', database, container };
  if (leaf === 'pkranges' && item === undefined) return { kind: 'ranges', database, container };
  if (leaf !== 'docs') throw unknownPath(segments);
  return item === undefined
    ? { kind: 'items', database, container }
    : { kind: 'item', database, container, item };
}

/**
 * An item's id as the service's gateway understands it: decoded once more, and without white space at the end. Clients sign the id as it
 * is, so that requests for an id which this changes are 401, as the SDK's own tests of ids expect: such an item can be created, and
 * then only be reached by queries and batches.
 */
function asGatewayReads(id: string): string {
  if (/[\t\r\n]/.test(id)) throw badUrl();
  return id.replace(/(?:%[\da-f]{2})+/gi, decodeIfValid).trimEnd();
}

function decodeIfValid(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

const unknownPath = (segments: string[]): CosmosError =>
  badRequest(`/${segments.join('/')} is not a resource.`);

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new CosmosError(400, `The path segment ${segment} is not percent-encoded UTF-8.`, { cause });
  }
}
