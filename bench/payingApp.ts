import type { AzureClients } from '../src/platform/azureClients.ts';
import type { Settings } from '../src/settings/settings.ts';
import { startLocalApp } from './localApp.ts';

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
  startHost(env?: Record<string, string>): Promise<void>;
  /** Stops it, so that another one can be started. */
  stopHost(): Promise<void>;
  /** Runs the job once; `count` due invoices must be stored. @throws if payments stall before all are paid */
  payDue(count: number): Promise<Measured>;
}

const never = '0 0 0 29 2 *';
const pollMs = 50;
/** Milliseconds without a new payment after which the run counts as stalled. */
const stalledMs = 300_000;

export async function startPayingApp(): Promise<PayingApp> {
  const app = await startLocalApp();
  const container = app.clients.containers.invoices;
  let port = 0;

  async function cosmosRequests(): Promise<number> {
    return (await app.cosmosRequests()).get('invoices') ?? 0;
  }

  async function paid(): Promise<number> {
    const query = `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'paid'`;
    const { resources } = await container.items.query<number>(query).fetchAll();
    return resources[0] ?? 0;
  }

  const charges = async () => (await app.paymentCounts()).charges;

  return {
    settings: app.settings,
    clients: app.clients,
    serviceBus: app.serviceBus,
    cosmosRequests,
    importDue: (prefix, count) => app.importDue(prefix, count),

    async startHost(env = {}) {
      const timers = { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never };
      const host = await app.startHost('bench-host', { ...env, ...timers });
      port = host.port;
    },

    stopHost: () => app.stopHosts(),

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

    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
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
