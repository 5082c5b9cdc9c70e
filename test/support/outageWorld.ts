import { ServiceBusClient, type ServiceBusReceivedMessage } from '@azure/service-bus';
import { cosmosOutboxStore } from '../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import type { Clock } from '../../packages/leases/src/clock.ts';
import { memoryLockStore } from '../../packages/leases/src/testing/memoryLockStore.ts';
import { type App, createApp } from '../../src/app.ts';
import { azureCloud, type Cloud } from '../../src/cloud.ts';
import type { InvoiceContent } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { blobContainers, queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { acceleratedClock } from './acceleratedClock.ts';
import type { Report } from './alertRules.ts';
import { startFaultProxy } from './faultProxy.ts';
import { faultyLockStore } from './faultyLockStore.ts';
import { addAll } from './importing.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from './localCloud.ts';
import { startTcpProxy } from './tcpProxy.ts';

export type Service = 'cosmos' | 'serviceBus' | 'storage' | 'provider';

const second = 1_000;
const minute = 60 * second;
const shards = 16;
/** As in host.json. */
const maxDequeueCount = 5;

/**
 * The whole app in this process on a local cloud of its own, each service behind a proxy that can take it away: it then
 * answers 503, or resets connections. Time passes `factor` times as fast, and the triggers fire by it. Queues count real
 * time, so what the app delays there is as much shorter. The leases are in memory, where they count the app's time, and go
 * away with storage. `env` changes settings.
 */
export async function outageWorld(factor: number, env: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack();
  const clock = acceleratedClock(factor);
  const cloud = starting.use(await startLocalCloud({ searchLagMs: 0 }));
  const away = new Set<Service>();
  const through = async (target: string, service: Service) => {
    const proxy = await startFaultProxy({
      target,
      fault: () => (away.has(service) ? { kind: 'status', status: 503 } : { kind: 'none' }),
    });
    starting.use(proxy);
    return proxy.origin;
  };
  /** The connection string, with each of its HTTP addresses behind a proxy. */
  const behind = async (text: string, service: Service) => {
    let changed = text;
    for (const origin of new Set(text.match(/http:\/\/127\.0\.0\.1:\d+/g)))
      changed = changed.replaceAll(origin, await through(origin, service));
    return changed;
  };
  const busPort = Number(/:(\d+)/.exec(cloud.serviceBus)?.[1]);
  const bus = starting.use(await startTcpProxy({ port: busPort }));
  const settings = readSettings({
    ...settingsFor({
      ...cloud,
      cosmos: await behind(cloud.cosmos, 'cosmos'),
      storage: await behind(cloud.storage, 'storage'),
      payments: await through(cloud.payments, 'provider'),
      serviceBus: cloud.serviceBus.replace(`:${busPort}`, `:${bus.port}`),
    }),
    INSTANCE_ID: 'host-a',
    ...env,
  });
  const reports: Report[] = [];
  const telemetry = {
    count: (name: string, attributes = {}, value = 1) =>
      void reports.push({ at: clock.now(), name, value, attributes }),
    record: (name: string, value: number, attributes = {}) =>
      void reports.push({ at: clock.now(), name, value, attributes }),
  };
  const locks = faultyLockStore(
    memoryLockStore(() => clock.monotonic()),
    clock,
    () => (away.has('storage') ? { kind: 'status', status: 503 } : { kind: 'none' }),
  );
  const app = createApp(settings, {
    clock,
    telemetry,
    log() {},
    cloud: (instance) =>
      hastily(
        azureCloud(settings, instance, () => locks),
        factor,
      ),
  });
  starting.defer(() => app.stop());
  const host = starting.use(startTriggers(app, cloud, { clock, away }));
  const invoices = cosmosInvoiceStore(container(cloud), { clock, shards });
  const outbox = cosmosOutboxStore(container(cloud));
  const receipts = cloud.blobs.getContainerClient(blobContainers.receipts);
  const running = starting.move();

  return {
    clock,
    reports,
    /** Errors of the triggers, which a host would log. */
    failures: host.failures,
    takeAway(service: Service) {
      away.add(service);
      if (service === 'serviceBus') bus.fault({ kind: 'resetBefore' });
      if (service === 'serviceBus') bus.resetNow();
    },
    bringBack(service: Service) {
      away.delete(service);
      bus.fault({ kind: 'none' });
    },
    /** Stores invoices, the first of them due now and then one every minute. */
    async importInvoices(count: number): Promise<string[]> {
      const start = clock.now();
      const contents = Array.from({ length: count }, (_, n): InvoiceContent => ({
        id: `inv-${start}-${n}`,
        customerId: 'cus_1',
        amountMinor: 1_000 + n,
        currency: 'USD',
        dueAt: new Date(start + n * minute).toISOString(),
        paymentMethod: 'pm_card_visa',
      }));
      const { outcomes } = await addAll(invoices, contents, { by: 'test', withinMs: 10 * minute });
      const created = [...outcomes].filter(([, outcome]) => outcome === 'created').map(([id]) => id);
      if (created.length < count) throw new Error(`only ${created.length} of ${count} were stored`);
      return created;
    },
    async statuses(ids: readonly string[]): Promise<string[]> {
      const found = await Promise.all(ids.map((id) => invoices.find(id)));
      return found.map((invoice) => invoice?.status ?? 'missing');
    },
    /** Counts the charges of each invoice. One without a charge is missing. */
    async charges(): Promise<Map<string, number>> {
      const response = await fetch(`${cloud.payments}/_local/charges`);
      const rows = (await response.json()) as { invoiceId: string }[];
      return new Map([...Map.groupBy(rows, (row) => row.invoiceId)].map(([id, of]) => [id, of.length]));
    },
    async receipts(): Promise<string[]> {
      const names = await Array.fromAsync(receipts.listBlobsFlat(), ({ name }) => name);
      return names.map((name) => name.split('/')[0] ?? '');
    },
    /** Counts what waits for a person. */
    async parked(): Promise<{ invoices: number; messages: number; poison: number }> {
      return {
        invoices: await invoices.parkedCount(),
        messages: await outbox.count({ status: 'parked' }),
        poison: host.poison.length,
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function container({ cosmosClient }: LocalCloud) {
  return cosmosClient.database(databaseName).container(containers.invoices.name);
}

/** The cloud, with the delays of its storage queues as short as the time that passes. */
function hastily(cloud: Cloud, factor: number): Cloud {
  const { workItems } = cloud;
  return {
    ...cloud,
    workItems: {
      ...workItems,
      sendAgain: (message, delayMs) => workItems.sendAgain(message, delayMs / factor),
      putBack: (message, delayMs) => workItems.putBack(message, delayMs / factor),
    },
  };
}

/**
 * Acts as the Functions host: timers and queues call the app, and a failure is logged and followed by the
 * next call.
 */
function startTriggers(
  app: App,
  cloud: LocalCloud,
  { clock, away }: { clock: Clock; away: ReadonlySet<Service> },
) {
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const poison: unknown[] = [];
  const client = new ServiceBusClient(cloud.serviceBus);
  const commands = client.createReceiver(serviceBusQueues.paymentCommands);
  const workItems = cloud.queues.getQueueClient(queues.workItems);

  async function every(ms: number, work: () => Promise<unknown>): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch((error: unknown) => failures.push(error));
      await clock.sleep(ms, stopping.signal).catch(() => {});
    }
  }

  async function payments(): Promise<void> {
    if (away.has('serviceBus')) return;
    const messages = await commands.receiveMessages(4, { maxWaitTimeInMs: 100 });
    await Promise.all(messages.map(pay));
  }

  async function pay(message: ServiceBusReceivedMessage): Promise<void> {
    try {
      await app.executePayments(message.body, { deliveryCount: (message.deliveryCount ?? 0) + 1 });
      await commands.completeMessage(message);
    } catch (error) {
      failures.push(error);
      await commands.abandonMessage(message);
    }
  }

  async function items(): Promise<void> {
    if (away.has('storage')) return;
    const { receivedMessageItems: received } = await workItems.receiveMessages({
      numberOfMessages: 16,
      visibilityTimeout: 5,
    });
    for (const { messageId, popReceipt, messageText, dequeueCount } of received) {
      const message: unknown = JSON.parse(Buffer.from(messageText, 'base64').toString());
      if (dequeueCount > maxDequeueCount) poison.push(message);
      else await app.processWorkItem(message);
      await workItems.deleteMessage(messageId, popReceipt);
    }
  }

  const loops = [
    every(5 * minute, () => app.processInvoices()),
    every(30 * second, () => app.sweepOutbox()),
    every(30 * second, () => app.trackPayments()),
    every(second, payments),
    every(5 * second, items),
  ];
  return {
    failures,
    poison,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await Promise.all(loops);
      await client.close();
    },
  };
}
