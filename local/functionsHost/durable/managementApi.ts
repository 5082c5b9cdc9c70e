/**
 * The extension's HTTP API as (method, path, query, body) → answer. Clients call it from outside, the SDK
 * from inside. (https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-http-api)
 */
import { randomUUID } from 'node:crypto';
import type { ClientSignal, DurableClient } from './client.ts';
import { type InstanceFilter, isOver, type RuntimeStatus, runtimeStatus } from './instances.ts';
import { managementUrls } from './links.ts';
import { shown, shownHistory } from './statusPayload.ts';

export interface ApiRequest {
  method: string;
  /** Decoded segments after `…/durabletask/`. */
  path: string[];
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  /** Origin under which the caller reached this host. */
  origin: string;
  /** The full URL. */
  url: string;
}

export interface ApiAnswer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON; undefined for an empty body. */
  body?: unknown;
}

export interface ApiOptions {
  client: DurableClient;
  hubName: string;
  /** The key that the webhooks ask for, which links have to contain. */
  key: string | undefined;
  orchestrators: string[];
}

const notFound: ApiAnswer = { status: 404 };

export async function answerApi(request: ApiRequest, options: ApiOptions): Promise<ApiAnswer> {
  const [collection, first, operation, eventName, ...rest] = request.path;
  const hub = request.query.get('taskHub');
  if (hub !== null && hub.toLowerCase() !== options.hubName.toLowerCase()) {
    return notSupported(`another task hub (${hub})`);
  }
  if (rest.length > 0) return notFound;
  if (collection === 'entities') return notSupported('entities');
  if (collection === 'orchestrators' && request.method === 'POST' && first !== undefined) {
    return eventName === undefined ? start(request, options, first, operation) : notFound;
  }
  if (collection !== 'instances') return notFound;
  if (first === undefined) {
    if (request.method === 'GET') return list(request, options);
    return request.method === 'DELETE' ? purgeAll(request, options) : notFound;
  }
  if (operation === undefined) {
    if (request.method === 'GET') return status(request, options, first);
    return request.method === 'DELETE' ? purge(options, first) : notFound;
  }
  if (request.method !== 'POST') return notFound;
  if (operation === 'raiseEvent' && eventName !== undefined) {
    return raise(request, options, first, eventName);
  }
  if (eventName !== undefined) return notFound;
  switch (operation) {
    case 'terminate':
    case 'suspend':
    case 'resume':
      return signal(options, first, { kind: operation, reason: request.query.get('reason') });
    case 'restart':
      return restart(request, options, first);
    case 'rewind':
      return notSupported('rewind');
    default:
      return notFound;
  }
}

async function start(
  request: ApiRequest,
  options: ApiOptions,
  name: string,
  givenId: string | undefined,
): Promise<ApiAnswer> {
  if (request.query.has('timeout')) return notSupported('waiting for the new instance (timeout)');
  if (!isJson(request.body)) return { status: 400, body: { message: 'Invalid JSON content' } };
  return startInstance(request, options, {
    name,
    instanceId: givenId || randomUUID().replaceAll('-', ''),
    version: request.query.get('version'),
    input: request.body === '' ? null : request.body,
  });
}

async function startInstance(
  request: ApiRequest,
  { client, hubName, key, orchestrators }: ApiOptions,
  wanted: Parameters<DurableClient['start']>[0],
): Promise<ApiAnswer> {
  const { name, instanceId } = wanted;
  if (instanceId.startsWith('@') || instanceId.length > 100) {
    return {
      status: 400,
      body: { message: 'Instance id: expected at most 100 characters and no leading @.' },
    };
  }
  if (!orchestrators.includes(name)) {
    const known = orchestrators.map((one) => `'${one}'`).join(', ');
    return {
      status: 400,
      body: {
        message:
          `The function '${name}' doesn't exist, is disabled, or is not an orchestrator function. ` +
          `Additional info: The following are the known orchestrator functions: ${known}.`,
      },
    };
  }
  if ((await client.start(wanted)) === 'exists') {
    const message = `An Orchestration instance with the id ${instanceId} is already running.`;
    return { status: 409, body: { message } };
  }
  const body = managementUrls(request.origin, { hubName, key }, instanceId);
  return { status: 202, headers: { Location: body.statusQueryGetUri, 'Retry-After': '10' }, body };
}

async function restart(request: ApiRequest, options: ApiOptions, instanceId: string): Promise<ApiAnswer> {
  const instance = await options.client.read(instanceId);
  if (instance === undefined) {
    return { status: 400, body: { message: 'InstanceId does not match a valid orchestration instance.' } };
  }
  const keepsId = request.query.get('restartWithNewInstanceId')?.toLowerCase() === 'false';
  return startInstance(request, options, {
    name: instance.name,
    instanceId: keepsId ? instanceId : randomUUID().replaceAll('-', ''),
    version: null,
    input: instance.input,
  });
}

async function raise(
  request: ApiRequest,
  options: ApiOptions,
  instanceId: string,
  name: string,
): Promise<ApiAnswer> {
  const instance = await options.client.read(instanceId);
  if (instance === undefined) return notFound;
  if (isOver(instance.runtimeStatus)) return { status: 410 };
  if (!String(request.headers['content-type'] ?? '').startsWith('application/json')) {
    return { status: 400, body: { message: 'Only application/json request content is supported' } };
  }
  if (!isJson(request.body)) return { status: 400, body: { message: 'Invalid JSON content' } };
  return signal(options, instanceId, { kind: 'raise', name, input: request.body || null });
}

async function signal({ client }: ApiOptions, instanceId: string, wanted: ClientSignal): Promise<ApiAnswer> {
  switch (await client.signal(instanceId, wanted)) {
    case 'sent':
      return { status: 202 };
    case 'over':
      return { status: 410 };
    case 'unknown':
      return notFound;
  }
}

async function status(
  { query, url }: ApiRequest,
  { client }: ApiOptions,
  instanceId: string,
): Promise<ApiAnswer> {
  const instance = await client.read(instanceId);
  if (instance === undefined) return notFound;
  const history = isTrue(query, 'showHistory')
    ? shownHistory(await client.readHistory(instanceId), isTrue(query, 'showHistoryOutput'))
    : undefined;
  const body = shown(instance, query.get('showInput')?.toLowerCase() !== 'false', history);
  if (!isOver(instance.runtimeStatus)) {
    return { status: 202, headers: { Location: url, 'Retry-After': '5' }, body };
  }
  const failsLoudly =
    instance.runtimeStatus === 'Failed' && isTrue(query, 'returnInternalServerErrorOnFailure');
  return { status: failsLoudly ? 500 : 200, body };
}

async function list({ query, headers }: ApiRequest, { client }: ApiOptions): Promise<ApiAnswer> {
  const filter = filterOf(query);
  if (typeof filter === 'string') return { status: 400, body: { message: filter } };
  const token = headers['x-ms-continuation-token'];
  const size = Number(query.get('top') ?? 100);
  if (!Number.isInteger(size) || size < 1 || size > 1000) {
    return { status: 400, body: { message: 'top: expected a whole number from 1 to 1000' } };
  }
  const { instances, continuation } = await client.list(filter, {
    size,
    continuation: typeof token === 'string' && token !== '' ? token : undefined,
  });
  return {
    status: 200,
    ...(continuation === undefined ? {} : { headers: { 'x-ms-continuation-token': continuation } }),
    body: instances.map((one) => shown(one, query.get('showInput')?.toLowerCase() !== 'false', undefined)),
  };
}

async function purge({ client }: ApiOptions, instanceId: string): Promise<ApiAnswer> {
  switch (await client.purge(instanceId)) {
    case 'purged':
      return { status: 200, body: { instancesDeleted: 1 } };
    case 'unknown':
      return notFound;
    case 'running':
      return { status: 412, body: 'Only orchestrations in a terminal state can be purged' };
  }
}

async function purgeAll({ query }: ApiRequest, { client }: ApiOptions): Promise<ApiAnswer> {
  const filter = filterOf(query);
  if (typeof filter === 'string') return { status: 400, body: { message: filter } };
  if (filter.createdFrom === undefined) {
    return { status: 400, body: "Please provide value for 'createdTimeFrom' parameter." };
  }
  const instancesDeleted = await client.purgeAll(filter);
  return instancesDeleted === 0 ? notFound : { status: 200, body: { instancesDeleted } };
}

/** The filter in a query, or what is wrong with it. */
function filterOf(query: URLSearchParams): InstanceFilter | string {
  const statuses: RuntimeStatus[] = [];
  for (const name of query.getAll('runtimeStatus').flatMap((text) => text.split(','))) {
    const parsed = runtimeStatus.safeParse(name);
    if (!parsed.success) return `runtimeStatus: unknown status ${JSON.stringify(name)}`;
    statuses.push(parsed.data);
  }
  const times: { createdFrom?: Date; createdTo?: Date } = {};
  for (const [member, name] of [
    ['createdFrom', 'createdTimeFrom'],
    ['createdTo', 'createdTimeTo'],
  ] as const) {
    const text = query.get(name);
    if (text === null) continue;
    const time = new Date(text);
    if (Number.isNaN(time.getTime())) return `${name}: expected a time, got ${JSON.stringify(text)}`;
    times[member] = time;
  }
  return { statuses, ...times, prefix: query.get('instanceIdPrefix') ?? undefined };
}

function isTrue(query: URLSearchParams, name: string): boolean {
  return query.get(name)?.toLowerCase() === 'true';
}

function isJson(text: string): boolean {
  if (text === '') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function notSupported(what: string): ApiAnswer {
  return { status: 501, body: `${what}: not supported by the local Functions host` };
}
