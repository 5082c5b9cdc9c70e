import { z } from 'zod';
import type { AzureClients } from '../src/platform/azureClients.ts';
import { queues } from '../src/platform/azureNames.ts';
import type { Settings } from '../src/settings/settings.ts';
import { startLocalApp } from './localApp.ts';
import { processorSeconds } from './processorSeconds.ts';

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
  /** Waits until it has done the work items that payments order. */
  followUpsDone(): Promise<void>;
  /** Seconds of processor time that the host and its worker have used. NaN where there is no /proc. */
  processorSeconds(): number;
  /** Stops it, so that another one can be started. */
  stopHost(): Promise<void>;
  /** Runs the job once; `count` due invoices must be stored. @throws if payments stall before all are paid */
  payDue(count: number): Promise<Measured>;
}

const never = '0 0 0 29 2 *';
const locksSchema = z.object({ locks: z.array(z.object({ key: z.string(), held: z.boolean() })) });
const pollMs = 50;
/** Milliseconds without a new payment after which the timers tick once more. */
const stillMs = 15_000;
/** Milliseconds without a new payment after which the run counts as stalled. */
const stalledMs = 300_000;

export async function startPayingApp(): Promise<PayingApp> {
  const app = await startLocalApp();
  const container = app.clients.containers.invoices;
  let port = 0;
  let hostPid: number | undefined;

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
      // Receipts that the host before left undone would be done by this one, at its cost.
      await app.clients.queues.getQueueClient(queues.workItems).clearMessages();
      const timers = { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never };
      const host = await app.startHost('bench-host', { ...env, ...timers });
      port = host.port;
      hostPid = host.process.pid;
      await locksFree(port);
    },

    async followUpsDone() {
      const queue = app.clients.queues.getQueueClient(queues.workItems);
      const waiting = async () => (await queue.getProperties()).approximateMessagesCount ?? 0;
      // Payments order them a moment after they have been counted.
      for (let empty = 0; empty < 20; empty = (await waiting()) === 0 ? empty + 1 : 0) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    },

    processorSeconds: () => (hostPid === undefined ? Number.NaN : processorSeconds(hostPid)),

    stopHost: () => app.stopHosts(),

    async payDue(count) {
      const chargesBefore = await charges();
      const beforePoll = await cosmosRequests();
      const paidBefore = await paid();
      const requestsBefore = await cosmosRequests();
      const requestsPerPoll = requestsBefore - beforePoll;
      const started = performance.now();
      await trigger(port, 'processInvoices');
      // No timer ticks here. Invoices that a delivery did not settle and messages that the first try did not send need ticks.
      const tick = () =>
        Promise.all([trigger(port, 'sweepOutbox'), trigger(port, 'processInvoices')]).then(() => undefined);
      await reached(chargesBefore + count, charges, tick);
      // From here on our own polls are Cosmos requests too. They are subtracted below.
      const polls = await reached(paidBefore + count, paid);
      const seconds = (performance.now() - started) / 1000;
      const requests = (await cosmosRequests()) - requestsBefore - polls * requestsPerPoll;
      return { count, seconds, cosmosRequests: requests, charges: (await charges()) - chargesBefore };
    },

    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** Waits until the leases of a host before this one are free: a run skips the groups whose lease another process holds. */
async function locksFree(port: number): Promise<void> {
  for (;;) {
    const { locks } = locksSchema.parse(await (await fetch(`http://127.0.0.1:${port}/api/ops/locks`)).json());
    const held = locks.filter((lock) => lock.held);
    if (held.length === 0) return;
    console.log(`still held: ${held.map(({ key }) => key).join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function trigger(port: number, timer: string): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${port}/admin/functions/${timer}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":""}',
  });
  if (status !== 202) throw new Error(`the timer function ${timer} answered ${status}`);
}

/**
 * Waits until a growing number reaches `target`. `still` is called whenever it has stood still for a while. Resolves with the
 * number of polls. @throws if it stalls
 */
async function reached(
  target: number,
  poll: () => Promise<number>,
  still: () => Promise<void> = async () => {},
): Promise<number> {
  let best = Number.NEGATIVE_INFINITY;
  let movedAt = performance.now();
  let stillAt = movedAt;
  for (let polls = 1; ; polls++) {
    const value = await poll();
    if (value >= target) return polls;
    const now = performance.now();
    if (value > best) {
      best = value;
      movedAt = stillAt = now;
    }
    if (now - movedAt > stalledMs) throw new Error(`stalled at ${value} of ${target}`);
    if (now - stillAt > stillMs) {
      stillAt = now;
      await still();
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
