import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type HostProcess, startHostProcess } from '../../../../../test/support/functionsHostProcess.ts';

const app = fileURLToPath(new URL('./app', import.meta.url));

export function newHubName(): string {
  return `hub${randomUUID().replaceAll('-', '').slice(0, 12)}`;
}

export function startDurableHost(
  azurite: string,
  hub: string,
  instanceId: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<HostProcess> {
  const settings = { AzureWebJobsStorage: azurite, HUB: hub, INSTANCE_ID: instanceId, ...env };
  return startHostProcess({ app, args, env: settings });
}

export interface Status {
  name: string;
  instanceId: string;
  runtimeStatus: string;
  input: unknown;
  output: unknown;
  customStatus: unknown;
  historyEvents?: { EventType: string; TaskScheduledId?: number; Result?: unknown }[];
}

/** Calls a method of the SDK's client inside the app; rejects with the client's error message. */
export async function clientCall(host: HostProcess, method: string, ...args: unknown[]): Promise<unknown> {
  const response = await fetch(`${host.address}/api/client`, {
    method: 'POST',
    body: JSON.stringify({ method, args }),
  });
  const { value, error } = (await response.json()) as { value?: unknown; error?: string };
  if (error !== undefined) throw new Error(error);
  return value;
}

export async function start(
  host: HostProcess,
  name: string,
  input: unknown = null,
  instanceId?: string,
): Promise<string> {
  return String(await clientCall(host, 'startNew', name, { input, instanceId }));
}

export function webhook(host: HostProcess, path: string): string {
  return `${host.address}/runtime/webhooks/durabletask/${path}`;
}

/** Resolves once the status fits. If it never does, the test's own timeout ends the wait. */
export async function statusWhen(
  host: HostProcess,
  instanceId: string,
  fits: (status: Status) => boolean,
  query = '',
): Promise<Status> {
  for (;;) {
    const response = await fetch(webhook(host, `instances/${instanceId}?${query}`));
    const status = response.status === 404 ? undefined : ((await response.json()) as Status);
    if (status !== undefined && fits(status)) return status;
    await delay(40);
  }
}

const over = ['Completed', 'Failed', 'Terminated'];

export function ended(host: HostProcess, instanceId: string, query = ''): Promise<Status> {
  return statusWhen(host, instanceId, ({ runtimeStatus }) => over.includes(runtimeStatus), query);
}
