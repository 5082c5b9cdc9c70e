import { randomUUID } from 'node:crypto';
import { type ApiAnswer, type ApiOptions, type ApiRequest, isJson, notSupported } from './apiCalls.ts';
import type { DurableClient } from './client.ts';
import { managementUrls } from './links.ts';

/** `POST orchestrators/{name}[/{id}]` */
export async function start(
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

/** `POST instances/{id}/restart` */
export async function restart(
  request: ApiRequest,
  options: ApiOptions,
  instanceId: string,
): Promise<ApiAnswer> {
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
