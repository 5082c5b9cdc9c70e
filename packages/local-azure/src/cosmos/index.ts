import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../certificate.ts';
import { createAuthorizer, emulatorKey } from './auth.ts';
import { createBrowse } from './browse.ts';
import { openCatalog } from './catalog.ts';
import type { Container } from './container.ts';
import { createDataPlane } from './dataPlane.ts';
import { createFaults, emptyPageOf } from './faults.ts';
import { createLocalEndpoints } from './localEndpoints.ts';
import { createMetadata } from './metadata.ts';
import { isDataOperation, operationOf } from './operation.ts';
import { partitionOfHeader } from './partitionKey.ts';
import { rangeOfRequest, withSession } from './requestScope.ts';
import { parseRoute, pathOf } from './route.ts';
import { createCosmosServer, type Prepare } from './server.ts';
import { createStats } from './stats.ts';
import { openStorage } from './storage.ts';

export { emulatorKey } from './auth.ts';

export interface CosmosOptions {
  /** 0, the default, takes any free port. */
  port?: number;
  /** Folder for the data. Without it, data is kept in memory. */
  data?: string;
  /** Base64. Defaults to the emulators' well-known key. */
  key?: string;
  /** Wall-clock milliseconds for `_ts` and TTL. Defaults to the system clock. */
  now?: () => number;
  /** The account says that it has several write regions. It has one all the same. Default: false. */
  multipleWriteLocations?: boolean;
  /** Number of partition key ranges of each container, from 1 to 100. Default: 1. */
  partitions?: number;
  /** Speaks HTTPS with this certificate. Default: HTTP. */
  tls?: Certificate | undefined;
}

export interface Cosmos extends AsyncDisposable {
  /** `AccountEndpoint=…;AccountKey=…;`, ready for CosmosClient. */
  connectionString: string;
  endpoint: string;
  key: string;
  port: number;
  stop(): Promise<void>;
}

/** Starts the Cosmos stand-in on 127.0.0.1 and resolves once it accepts requests. */
export async function startCosmos({
  port: wanted = 0,
  data,
  key = emulatorKey,
  now = Date.now,
  multipleWriteLocations = false,
  partitions = 1,
  tls,
}: CosmosOptions = {}): Promise<Cosmos> {
  const db = openStorage(data);
  const catalog = openCatalog(db, now, partitions);
  const authorize = createAuthorizer(key, Date.now);
  const stats = createStats();
  const faults = createFaults();
  const local = createLocalEndpoints(stats, faults, createBrowse(db, catalog, now));
  const metadata = createMetadata(catalog, multipleWriteLocations, tls === undefined ? 'http' : 'https');
  const dataPlane = createDataPlane(db, now);

  const prepare: Prepare = (request, url, body) => {
    const method = request.method ?? 'GET';
    const { headers } = request;
    if (url.startsWith('/_local/'))
      return { fault: undefined, apply: () => local(method, pathOf(url), body) };
    const { route, signed } = parseRoute(url);
    authorize(method, signed, headers);
    const operation = operationOf(route, method, headers);
    const containerId = 'container' in route ? route.container : undefined;
    stats.record(operation, containerId);
    const container =
      isDataOperation(operation) && 'container' in route
        ? catalog.owner(route.database, route.container)
        : undefined;
    const key = headers['x-ms-documentdb-partitionkey'];
    const partition = container && partitionOfRequest(key, container, route.kind === 'item');
    const fault = faults.take({ operation, method, container: containerId, partition });
    return {
      fault,
      apply() {
        if (!isDataOperation(operation)) return metadata(operation, route, { method, headers, body });
        const { database, container: id } = route as { database: string; container: string };
        // Look the container up again: it may have been deleted during a delay fault.
        const target = catalog.owner(database, id);
        const item = route.kind === 'item' ? route.item : undefined;
        const emptyPage = emptyPageOf(fault);
        const asked = { method, headers, body, ...(emptyPage === undefined ? {} : { emptyPage }) };
        const answer = dataPlane(operation, target, item, asked);
        stats.charge(id, Number(answer.headers?.['x-ms-request-charge'] ?? 0));
        const named = { ...answer, headers: { ...answer.headers, ...nameHeaders(target) } };
        return withSession(named, target, rangeOfRequest(headers, target));
      },
    };
  };

  const closed = new AbortController();
  const server = createCosmosServer(prepare, closed.signal, tls);
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint = tls === undefined ? `http://127.0.0.1:${port}/` : `https://localhost:${port}/`;
  let stopped: Promise<void> | undefined;

  async function close(): Promise<void> {
    closed.abort();
    const ended = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await ended;
    db.close();
  }
  const stop = () => (stopped ??= close());
  return {
    connectionString: `AccountEndpoint=${endpoint};AccountKey=${key};`,
    endpoint,
    key,
    port,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function partitionOfRequest(
  header: string | string[] | undefined,
  { partitionKey }: Container,
  ofItem: boolean,
) {
  return typeof header === 'string' ? partitionOfHeader(header, partitionKey, ofItem) : undefined;
}

function nameHeaders({ rid, link }: Container): Record<string, string> {
  return { 'x-ms-content-path': rid, 'x-ms-alt-content-path': link };
}
