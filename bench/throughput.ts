/**
 * Invoices paid per second and Cosmos requests per invoice, from claim to paid: the app on one host, beside the same
 * chain done one by one with the plain SDKs, on the same stand-ins in one run.
 *
 *   npm run bench -- [--invoices N] [--one-by-one N]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { z } from 'zod';
import { freePorts } from '../local/freePorts.ts';
import { type Child, startChild } from '../local/start/child.ts';
import { importInvoices } from '../src/invoices/importInvoices.ts';
import { azureClients } from '../src/platform/azureClients.ts';
import { serviceBusQueues } from '../src/platform/azureNames.ts';
import { systemClock } from '../src/platform/clock.ts';
import { readSettings } from '../src/platform/readSettings.ts';
import { oneByOne } from './oneByOne.ts';

const { values } = parseArgs({
  options: {
    invoices: { type: 'string', default: '10000' },
    'one-by-one': { type: 'string', default: '300' },
  },
});
const many = Number(values.invoices);
const few = Number(values['one-by-one']);
const never = '0 0 0 29 2 *';

const folder = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
const children: Child[] = [];
try {
  const envFile = join(folder, 'env');
  children.push(
    await startChild('cloud', ['local/cloud.ts', '--env-file', envFile], {
      logFile: join(folder, 'cloud.log'),
    }),
  );
  const env = Object.fromEntries(
    readFileSync(envFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const settings = readSettings({ ...env, INSTANCE_ID: 'bench' });
  const clients = azureClients(settings);
  const container = clients.containers.invoices;
  const cosmos = /AccountEndpoint=(http:\/\/[^/;]+)/.exec(env.Cosmos ?? '')?.[1] ?? '';
  const payments = env.STRIPE_API_BASE ?? '';

  const [port = 0] = await freePorts(1);
  await importRows('one', few);
  const before = await cosmosRequests();
  const slow = await oneByOne({ clients, settings, prefix: 'one', count: few });
  const slowRequests = (await cosmosRequests()) - before;
  print('one by one', few, slow, slowRequests);
  await drainQueue();

  await importRows('many', many);
  children.push(
    await startChild('host', ['local/functionsHost/main.ts', '--port', `${port}`, '--env-file', envFile], {
      env: { INSTANCE_ID: 'bench-host', INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never },
      logFile: join(folder, 'host.log'),
    }),
  );
  const paidBefore = await charges();
  const beforeLook = await cosmosRequests();
  await paid();
  const requestsBefore = await cosmosRequests();
  const requestsPerLook = requestsBefore - beforeLook;
  const started = performance.now();
  const trigger = await fetch(`http://127.0.0.1:${port}/admin/functions/processInvoices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":""}',
  });
  if (trigger.status !== 202) throw new Error(`the timer function answered ${trigger.status}`);
  await until(async () => (await charges()) >= paidBefore + many);
  // From here on our own looks are requests too; they are taken off again.
  let looks = 0;
  await until(async () => {
    looks++;
    return (await paid()) >= many + few;
  });
  const fast = (performance.now() - started) / 1000;
  const requests = (await cosmosRequests()) - requestsBefore - looks * requestsPerLook;
  print('payonce', many, fast, requests);
  const charged = (await charges()) - paidBefore;
  console.log(
    `ratio: ${(many / fast / (few / slow)).toFixed(1)} times as fast; charges ${charged} for ${many} invoices`,
  );
  await clients.close();

  async function importRows(prefix: string, count: number): Promise<void> {
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
    await importInvoices({ container, clock: systemClock, shards: settings.shards }, rows, 'bench');
  }

  /** The baseline's messages are not payment batches: they must not occupy the app. */
  async function drainQueue(): Promise<void> {
    const client = new ServiceBusClient(env.ServiceBus ?? '');
    const receiver = client.createReceiver(serviceBusQueues.paymentCommands, {
      receiveMode: 'receiveAndDelete',
    });
    let left = few;
    while (left > 0) left -= (await receiver.receiveMessages(left, { maxWaitTimeInMs: 5_000 })).length;
    await client.close();
  }

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

  async function until(done: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 300_000;
    while (!(await done())) {
      if (performance.now() > deadline) throw new Error('not done within 5 minutes');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async function charges(): Promise<number> {
    const stats = z.object({ charges: z.number() });
    return stats.parse(await (await fetch(`${payments}/_local/stats`)).json()).charges;
  }
} finally {
  await Promise.all(children.toReversed().map((child) => child.stop(40_000)));
  rmSync(folder, { recursive: true, force: true });
}

function print(name: string, count: number, seconds: number, requests: number): void {
  const perInvoice = (requests / count).toFixed(3);
  console.log(
    `${name.padEnd(12)} ${count} invoices in ${seconds.toFixed(2)} s: ${(count / seconds).toFixed(0)} per second, ` +
      `${perInvoice} Cosmos requests per invoice`,
  );
}
