import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { freePorts } from '../local/freePorts.ts';
import { startChild } from '../local/start/child.ts';
import { importInvoices } from '../src/intake/importInvoices.ts';
import { cosmosInvoiceStore } from '../src/invoice/store/cosmosInvoiceStore.ts';
import { type AzureClients, azureClients } from '../src/platform/azureClients.ts';
import { systemClock } from '../src/platform/clock.ts';
import { readSettings } from '../src/settings/readSettings.ts';
import type { Settings } from '../src/settings/settings.ts';

/** Figures from the first claim until the last invoice is paid. */
export interface Measured {
  count: number;
  seconds: number;
  /** Requests to the invoices container. */
  cosmosRequests: number;
  charges: number;
}

/** A local cloud in a separate process, on which the app pays with one host. */
export interface PayingApp extends AsyncDisposable {
  settings: Settings;
  clients: AzureClients;
  /** Service Bus connection string. */
  serviceBus: string;
  /** Imports due invoices `{prefix}-0`, `{prefix}-1` and so on. */
  importDue(prefix: string, count: number): Promise<void>;
  /** Requests to the invoices container so far. */
  cosmosRequests(): Promise<number>;
  /** Starts the only host, with timers that never fire. */
  startHost(): Promise<void>;
  /** Runs the job once; `count` due invoices must be stored. @throws if payments stall before all are paid */
  payDue(count: number): Promise<Measured>;
}

const never = '0 0 0 29 2 *';
const pollMs = 50;
/** Milliseconds without a new payment after which the run counts as stalled. */
const stalledMs = 300_000;
const stopMs = 40_000;

export async function startPayingApp(): Promise<PayingApp> {
  await using starting = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const envFile = join(folder, 'env');
  const start = async (name: string, args: string[], env: Record<string, string> = {}) => {
    const logFile = join(folder, `${name}.log`);
    const child = await startChild(name, [...args, '--env-file', envFile], { env, logFile });
    children.defer(() => child.stop(stopMs));
  };
  const children = starting.use(new AsyncDisposableStack());
  await start('cloud', ['local/cloud.ts']);
  const env = readEnv(envFile);
  const settings = readSettings({ ...env, INSTANCE_ID: 'bench' });
  const clients = azureClients(settings);
  starting.defer(() => clients.close());
  const container = clients.containers.invoices;
  const cosmos = /AccountEndpoint=(http:\/\/[^/;]+)/.exec(env.Cosmos ?? '')?.[1] ?? '';
  const [port = 0] = await freePorts(1);
  const running = starting.move();

  async function cosmosRequests(): Promise<number> {
    const stats = z.object({ byContainer: z.record(z.string(), z.object({ requests: z.number() })) });
    const { byContainer } = stats.parse(await (await fetch(`${cosmos}/_local/stats`)).json());
    return byContainer.invoices?.requests ?? 0;
  }

  async function paid(): Promise<number> {
    const query = `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'paid'`;
    const { resources } = await container.items.query<number>(query).fetchAll();
    return resources[0] ?? 0;
  }

  async function charges(): Promise<number> {
    const stats = z.object({ charges: z.number() });
    return stats.parse(await (await fetch(`${env.STRIPE_API_BASE}/_local/stats`)).json()).charges;
  }

  return {
    settings,
    clients,
    serviceBus: env.ServiceBus ?? '',
    cosmosRequests,

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
      const invoices = cosmosInvoiceStore(container, { clock: systemClock, shards: settings.shards });
      await importInvoices(invoices, rows, 'bench');
    },

    startHost: () =>
      start('host', ['local/functionsHost/main.ts', '--port', `${port}`], {
        INSTANCE_ID: 'bench-host',
        INVOICE_SCHEDULE: never,
        OUTBOX_SCHEDULE: never,
      }),

    async payDue(count) {
      const chargesBefore = await charges();
      const beforePoll = await cosmosRequests();
      const paidBefore = await paid();
      const requestsBefore = await cosmosRequests();
      const requestsPerPoll = requestsBefore - beforePoll;
      const started = performance.now();
      const trigger = await fetch(`http://127.0.0.1:${port}/admin/functions/processInvoices`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"input":""}',
      });
      if (trigger.status !== 202) throw new Error(`the timer function answered ${trigger.status}`);
      await reached(chargesBefore + count, charges);
      // From here on our own polls are Cosmos requests too. They are subtracted below.
      const polls = await reached(paidBefore + count, paid);
      const seconds = (performance.now() - started) / 1000;
      const requests = (await cosmosRequests()) - requestsBefore - polls * requestsPerPoll;
      return { count, seconds, cosmosRequests: requests, charges: (await charges()) - chargesBefore };
    },

    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Waits until a growing number reaches `target`. Resolves with the number of polls. @throws if it stalls */
async function reached(target: number, poll: () => Promise<number>): Promise<number> {
  let best = -1;
  let movedAt = performance.now();
  for (let polls = 1; ; polls++) {
    const now = await poll();
    if (now >= target) return polls;
    if (now > best) {
      best = now;
      movedAt = performance.now();
    }
    if (performance.now() - movedAt > stalledMs) throw new Error(`stalled at ${now} of ${target}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

function readEnv(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
