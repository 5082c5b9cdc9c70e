import { expect } from 'vitest';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { type CloudAddresses, settingsFor } from '../support/localCloud.ts';
import { until } from '../support/until.ts';

/** Starts a host of a release; its timers never fire by themselves. */
export function startHost(cloud: CloudAddresses, app: string, name: string): Promise<HostProcess> {
  const never = '0 0 0 1 1 *';
  const env = {
    ...settingsFor(cloud),
    INSTANCE_ID: name,
    SHARDS: '2',
    SHARD_GROUPS: '1',
    BATCH_SIZE: '10',
    LEASE_SECONDS: '15',
    INVOICE_SCHEDULE: never,
    OUTBOX_SCHEDULE: never,
  };
  return startHostProcess({ app, env });
}

export async function importInvoices(host: HostProcess, prefix: string, count: number): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: `${prefix}-${index}`,
    customerId: 'cus_1',
    amountMinor: 100 + index,
    currency: 'USD',
    dueAt: '2025-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  }));
  const answer = await postTo(`${host.address}/api/ops/invoices`, rows);
  expect(await answer.json()).toMatchObject({ created: count, duplicates: 0, rejected: [] });
  return rows.map(({ id }) => id);
}

/** Runs a function with a timer once, to its end. */
export async function run(host: HostProcess, name: string): Promise<void> {
  const before = executionsOf(host, name);
  await postTo(`${host.address}/admin/functions/${name}`, { input: '' });
  await until(
    async () => executionsOf(host, name),
    (executions) => executions > before,
  );
}

/** Counts the executions of a function that have ended, well or not. */
export function executionsOf({ lines }: HostProcess, name: string): number {
  return lines.filter((line) => line.includes(` ${name} `) && line.includes(' executed (')).length;
}

export function failuresOf({ lines }: HostProcess): string[] {
  return lines.filter((line) => /^\S+ (error|fatal) /.test(line));
}

export async function postTo(url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`);
  return response;
}

export async function getFrom(host: HostProcess, path: string): Promise<unknown> {
  return (await fetch(`${host.address}/api/ops/${path}`)).json();
}
