import { type Answer, type CosmosRequest, headerOf } from './answer.ts';
import type { Catalog, Database } from './catalog.ts';
import { type Container, describeContainer } from './container.ts';
import { parseDefinition } from './containerDefinition.ts';
import { badRequest } from './errors.ts';
import { parseObject } from './json.ts';
import type { MetadataOperation } from './operation.ts';
import { parseQuery, plan } from './queries.ts';
import type { Range } from './ranges.ts';
import { databaseRid, etagOf } from './resourceIds.ts';
import type { Route } from './route.ts';
import { requireThroughput } from './throughput.ts';
import { requireResourceId } from './validation.ts';

/** Runs the operations on the account, its definitions and routing. */
export function createMetadata(
  catalog: Catalog,
  multipleWriteLocations: boolean,
  protocol: 'http' | 'https',
) {
  return function answer(operation: MetadataOperation, route: Route, request: CosmosRequest): Answer {
    const { database = '', container = '' } = idsOf(route);
    switch (operation) {
      case 'readAccount':
        return resource(
          200,
          describeAccount(
            `${protocol}://${headerOf(request.headers, 'host') ?? 'localhost'}/`,
            multipleWriteLocations,
          ),
        );
      case 'listDatabases':
        return feed('', 'Databases', [...catalog.databases()].map(describeDatabase));
      case 'createDatabase':
        requireThroughput(request.headers);
        return resource(201, describeDatabase(catalog.createDatabase(newId(request.body))));
      case 'readDatabase':
        return resource(200, describeDatabase(catalog.database(database)));
      case 'deleteDatabase':
        catalog.deleteDatabase(database);
        return gone;
      case 'listContainers': {
        const { number, containers } = catalog.database(database);
        return feed(
          databaseRid(number),
          'DocumentCollections',
          [...containers.values()].map(describeContainer),
        );
      }
      case 'createContainer':
        requireThroughput(request.headers);
        return containerAnswer(201, catalog.createContainer(database, parseDefinition(request.body)));
      case 'readContainer':
        return containerAnswer(200, catalog.container(database, container));
      case 'replaceContainer': {
        const current = catalog.container(database, container);
        catalog.replaceContainer(current, parseDefinition(request.body));
        return containerAnswer(200, current);
      }
      case 'deleteContainer':
        catalog.deleteContainer(database, container);
        return gone;
      case 'readPartitionKeyRanges': {
        const owner = catalog.container(database, container);
        return feed(
          owner.rid,
          'PartitionKeyRanges',
          owner.ranges.all.map((range) => describeRange(owner, range)),
        );
      }
      case 'queryPlan':
        return planAnswer(plan(parseQuery(request.body), catalog.owner(database, container)));
    }
  };
}

function idsOf(route: Route): { database?: string; container?: string } {
  return route.kind === 'account' || route.kind === 'databases' ? {} : route;
}

function newId(body: string): string {
  const { id } = parseObject(body);
  if (typeof id !== 'string')
    throw badRequest("The input content is invalid because the required properties - 'id; ' - are missing");
  requireResourceId(id);
  return id;
}

const gone: Answer = { status: 204, headers: {}, body: '' };

function resource(status: number, body: object): Answer {
  const headers: Record<string, string> = { 'x-ms-request-charge': '2' };
  if ('_etag' in body && typeof body._etag === 'string') headers.etag = body._etag;
  return { status, headers, body: JSON.stringify(body) };
}

function containerAnswer(status: number, container: Container): Answer {
  const answer = resource(status, describeContainer(container));
  return { ...answer, headers: { ...answer.headers, 'x-ms-alt-content-path': container.link } };
}

function feed(rid: string, name: string, entries: unknown[]): Answer {
  return {
    status: 200,
    headers: { 'x-ms-request-charge': '1', 'x-ms-item-count': String(entries.length) },
    body: JSON.stringify({ _rid: rid, [name]: entries, _count: entries.length }),
  };
}

/** One region, at the address that the client used, so a proxy in front of the stand-in stays in front. */
function describeAccount(endpoint: string, multipleWriteLocations: boolean) {
  const locations = [{ name: 'Local', databaseAccountEndpoint: endpoint }];
  return {
    _self: '',
    id: 'local',
    _rid: 'local',
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: locations,
    readableLocations: locations,
    enableMultipleWriteLocations: multipleWriteLocations,
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
  };
}

function describeDatabase({ number, id, ts }: Database) {
  const rid = databaseRid(number);
  return {
    id,
    _rid: rid,
    _self: `dbs/${rid}/`,
    _etag: etagOf(number, 0),
    _colls: 'colls/',
    _users: 'users/',
    _ts: ts,
  };
}

const planAnswer = (body: object): Answer => ({ status: 200, headers: {}, body: JSON.stringify(body) });

function describeRange({ rid, self, ts, ranges }: Container, { index, min, max }: Range) {
  return {
    id: String(index),
    _rid: rid,
    _self: `${self}pkranges/${index}/`,
    _etag: '"0"',
    _ts: ts,
    minInclusive: min,
    maxExclusive: max,
    ridPrefix: index,
    throughputFraction: 1 / ranges.all.length,
    status: 'online',
    parents: [],
  };
}
