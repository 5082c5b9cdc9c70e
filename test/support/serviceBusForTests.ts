import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { startServiceBus } from '../../packages/local-azure/src/serviceBus/index.ts';
import { type ManualBrokerClock, manualBrokerClock } from './manualBrokerClock.ts';
import { removeFolder } from './removeFolder.ts';

export interface QueueStats {
  active: number;
  scheduled: number;
  deferred: number;
  deadLettered: number;
  locked: number;
  sent: number;
  received: number;
  completed: number;
  abandoned: number;
  duplicatesDropped: number;
  lockExpiries: number;
  receivers: number;
}

export interface ServiceBusForTests extends AsyncDisposable {
  client: ServiceBusClient;
  clock: ManualBrokerClock;
  connectionString: string;
  localAddress: string;
  /** Opens another client on the same namespace. */
  connect(): ServiceBusClient;
  stats(queue: string): Promise<QueueStats>;
  setFault(fault: object): Promise<unknown>;
}

export interface ServiceBusForTestsOptions {
  data?: string;
  /** Milliseconds until the SDK gives up on an unanswered operation: its only sign of a lost connection. */
  timeoutInMs?: number;
}

/** The stand-in with these queues (properties as in Config.json), a manual clock and a real SDK client. */
export async function serviceBusForTests(
  queues: Record<string, object>,
  { data, timeoutInMs = 10_000 }: ServiceBusForTestsOptions = {},
): Promise<ServiceBusForTests> {
  const folder = await mkdtemp(join(tmpdir(), 'service-bus-'));
  const config = join(folder, 'Config.json');
  const list = Object.entries(queues).map(([Name, Properties]) => ({ Name, Properties }));
  await writeFile(config, JSON.stringify({ UserConfig: { Namespaces: [{ Name: 'test', Queues: list }] } }));
  const clock = manualBrokerClock();
  const bus = await startServiceBus({ config, clock, ...(data === undefined ? {} : { data }) });
  const clients: ServiceBusClient[] = [];
  // No retries, so that errors show at once: the SDK would retry for minutes.
  const connect = () => {
    const client = new ServiceBusClient(bus.connectionString, {
      retryOptions: { maxRetries: 0, timeoutInMs },
    });
    clients.push(client);
    return client;
  };
  return {
    client: connect(),
    clock,
    connectionString: bus.connectionString,
    localAddress: bus.localAddress,
    connect,
    async stats(queue) {
      const response = await fetch(`${bus.localAddress}/_local/stats`);
      const { queues: all } = (await response.json()) as { queues: Record<string, QueueStats> };
      const found = all[queue];
      if (found === undefined) throw new Error(`unknown queue ${queue}`);
      return found;
    },
    async setFault(fault) {
      const response = await fetch(`${bus.localAddress}/_local/faults`, {
        method: 'POST',
        body: JSON.stringify(fault),
      });
      if (!response.ok) throw new Error(await response.text());
      return response.json();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await bus.stop();
      await removeFolder(folder);
    },
  };
}
