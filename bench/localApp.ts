import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type Child, startChild } from '../local/start/child.ts';
import { systemClock } from '../packages/leases/src/clock.ts';
import { freePorts } from '../packages/local-azure/src/freePorts.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { type AzureClients, azureClients } from '../src/platform/azureClients.ts';
import { readSettings } from '../src/settings/readSettings.ts';
import type { Settings } from '../src/settings/settings.ts';
import { importRows } from '../test/support/importing.ts';
import { newAccount } from './newAccount.ts';

/** Counts of the payment provider since its start. */
export interface PaymentCounts {
  calls: number;
  /** Calls over a rate limit. */
  refused: number;
  /** Calls that moved money. */
  charges: number;
}

export interface Host extends Child {
  port: number;
}

/** A local cloud in a separate process, for hosts of the app in processes of their own. */
export interface LocalApp extends AsyncDisposable {
  settings: Settings;
  clients: AzureClients;
  /** Service Bus connection string. */
  serviceBus: string;
  /** Address of the payment provider. */
  payments: string;
  /** Imports due invoices `{prefix}-0`, `{prefix}-1` and so on. */
  importDue(prefix: string, count: number): Promise<void>;
  startHost(name: string, env: Record<string, string>): Promise<Host>;
  /** Ends all hosts at once, each with its time to finish. */
  stopHosts(): Promise<void>;
  /** Requests to the items of each Cosmos container so far. */
  cosmosRequests(): Promise<Map<string, number>>;
  paymentCounts(): Promise<PaymentCounts>;
}

const stopMs = 40_000;
const cosmosStats = z.object({ byContainer: z.record(z.string(), z.object({ requests: z.number() })) });
const paymentStats = z.object({
  calls: z.number(),
  charges: z.number(),
  overRate: z.record(z.string(), z.number()),
});

/** @param cloudOptions options for `npm run cloud` */
export async function startLocalApp(cloudOptions: readonly string[] = []): Promise<LocalApp> {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const envFile = join(folder, 'env');
  const start = (name: string, args: string[], env: Record<string, string> = {}) =>
    startChild(name, [...args, '--env-file', envFile], { env, logFile: join(folder, `${name}.log`) });
  const cloud = await start('cloud', ['local/cloud.ts', ...newAccount, ...cloudOptions]);
  starting.defer(() => cloud.stop(stopMs));
  const env = readEnv(envFile);
  const settings = readSettings({ ...env, INSTANCE_ID: 'bench' });
  const clients = azureClients(settings);
  starting.defer(() => clients.close());
  const cosmos = /AccountEndpoint=(http:\/\/[^/;]+)/.exec(env.Cosmos ?? '')?.[1] ?? '';
  const payments = env.STRIPE_API_BASE ?? '';
  const hosts: Host[] = [];
  const stopHosts = async () => void (await Promise.all(hosts.map((host) => host.stop(stopMs))));
  starting.defer(stopHosts);
  const running = starting.move();

  return {
    settings,
    clients,
    serviceBus: env.ServiceBus ?? '',
    payments,

    async importDue(prefix, count) {
      const rows = Array.from({ length: count }, (_, index) => ({
        index,
        invoice: {
          id: `${prefix}-${index}`,
          customerId: `cus-${index % 100}`,
          amountMinor: 100 + index,
          currency: 'USD',
          dueAt: '2025-01-01T00:00:00.000Z',
          paymentMethod: 'pm_card_visa',
        },
      }));
      const invoices = cosmosInvoiceStore(clients.containers.invoices, {
        clock: systemClock,
        shards: settings.shards,
      });
      const { created } = await importRows(invoices, rows, 'bench');
      if (created !== count) throw new Error(`stored ${created} of ${count} invoices`);
    },

    async startHost(name, hostEnv) {
      const [port = 0] = await freePorts(1);
      const args = ['packages/local-azure/src/functionsHost/main.ts', '--port', `${port}`];
      const host = { ...(await start(name, args, { ...hostEnv, INSTANCE_ID: name })), port };
      hosts.push(host);
      return host;
    },

    stopHosts,

    async cosmosRequests() {
      const { byContainer } = cosmosStats.parse(await readJson(`${cosmos}/_local/stats`));
      return new Map(Object.entries(byContainer).map(([name, { requests }]) => [name, requests]));
    },

    async paymentCounts() {
      const { calls, charges, overRate } = paymentStats.parse(await readJson(`${payments}/_local/stats`));
      return { calls, charges, refused: Object.values(overRate).reduce((sum, count) => sum + count, 0) };
    },

    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function readJson(address: string): Promise<unknown> {
  return (await fetch(address)).json();
}

function readEnv(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
