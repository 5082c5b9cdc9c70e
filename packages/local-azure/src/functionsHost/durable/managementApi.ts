/**
 * The extension's HTTP API as (method, path, query, body) → answer. Clients call it from outside, the SDK
 * from inside. (https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-http-api)
 */
import {
  type ApiAnswer,
  type ApiOptions,
  type ApiRequest,
  isJson,
  isTrue,
  notFound,
  notSupported,
} from './apiCalls.ts';
import type { ClientSignal } from './client.ts';
import { isOver } from './instances.ts';
import { list, purgeAll } from './manyInstances.ts';
import { restart, start } from './startInstance.ts';
import { shown, shownHistory } from './statusPayload.ts';

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
