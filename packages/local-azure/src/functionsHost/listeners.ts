import { ServiceBusClient } from '@azure/service-bus';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import type { AppFunction, BlobTrigger, CosmosTrigger, TimerTrigger } from './appFunctions.ts';
import { createBlobListener } from './blob/blobTrigger.ts';
import type { Clock } from './clock.ts';
import type { HostJson } from './hostJson.ts';
import { HostStartError } from './hostStartError.ts';
import type { Invoker } from './invoker.ts';
import type { Logger } from './logger.ts';
import { createQueueListener } from './queue/queueTrigger.ts';
import { createPullingListener } from './serviceBus/pullingListener.ts';
import { createServiceBusListener } from './serviceBus/serviceBusTrigger.ts';
import { connectionString, type Settings } from './settings.ts';
import { blobListenerLease } from './timer/listenerLease.ts';
import { isSlow, parseSchedule } from './timer/schedule.ts';
import { blobScheduleStatus } from './timer/scheduleStatus.ts';
import { createTimerListener } from './timer/timerTrigger.ts';
import type { TriggerListener } from './triggerListener.ts';

/** Gives up settling on a broken connection after a minute; the SDK's defaults take four. Milliseconds. */
const retryOptions = { maxRetries: 3, retryDelayInMs: 800, timeoutInMs: 15_000 };

export interface ListenersOptions {
  functions: AppFunction[];
  hostJson: HostJson;
  settings: Settings;
  hostId: string;
  instanceId: string;
  timerSingleton: boolean;
  invoker: Invoker;
  logger: Logger;
  clock: Clock;
}

/**
 * Creates one listener per timer and queue function. Functions with the same connection share a client.
 * @throws HostStartError naming each function with an invalid connection or schedule
 */
export async function createListeners(options: ListenersOptions): Promise<TriggerListener[]> {
  const { functions, hostJson, settings, invoker, logger, clock } = options;
  const blobServices = new Map<string, BlobServiceClient>();
  const queueServices = new Map<string, QueueServiceClient>();
  const serviceBusClients = new Map<string, ServiceBusClient>();
  let hostsContainer: ContainerClient | undefined;

  /** Loaded only by an app that needs it: whoever has no such trigger need not have the SDK of Cosmos. */
  async function cosmosListener(fn: AppFunction<CosmosTrigger>): Promise<TriggerListener> {
    const { createCosmosListener } = await import('./cosmos/cosmosTrigger.ts').catch((cause: unknown) => {
      throw new HostStartError('its trigger needs the package @azure/cosmos to be installed', { cause });
    });
    return createCosmosListener({ fn, instanceId: options.instanceId, invoker, logger, clock });
  }

  async function create(fn: AppFunction): Promise<TriggerListener | undefined> {
    const { trigger } = fn;
    switch (trigger.type) {
      case 'timer':
        return timer({ ...fn, trigger });
      case 'blob':
        return blob({ ...fn, trigger });
      case 'queue': {
        const { queues } = hostJson.extensions;
        return createQueueListener({
          fn: { ...fn, trigger },
          service: queueService(trigger.connection),
          options: queues,
          invoker,
          logger,
          clock,
        });
      }
      case 'serviceBus': {
        const { connection } = trigger;
        const client = shared(
          serviceBusClients,
          connection,
          () => new ServiceBusClient(connection, { retryOptions }),
        );
        const { serviceBus } = hostJson.extensions;
        const pulls = trigger.isSessionsEnabled || trigger.cardinality === 'many';
        return (pulls ? createPullingListener : createServiceBusListener)({
          fn: { ...fn, trigger },
          client,
          options: serviceBus,
          invoker,
          logger,
        });
      }
      case 'cosmos':
        return cosmosListener({ ...fn, trigger });
      case 'http':
      case 'durable':
        return undefined;
    }
  }

  function queueService(connection: string): QueueServiceClient {
    return shared(queueServices, connection, () => QueueServiceClient.fromConnectionString(connection));
  }

  /** The container in which the hosts of an app keep leases, statuses and receipts. */
  function ofHosts(): ContainerClient {
    hostsContainer ??= BlobServiceClient.fromConnectionString(
      connectionString('AzureWebJobsStorage', settings),
    ).getContainerClient('azure-webjobs-hosts');
    return hostsContainer;
  }

  function blob(fn: AppFunction<BlobTrigger>): TriggerListener {
    const { connection } = fn.trigger;
    const { listenerLockPeriod, listenerLockRecoveryPollingInterval } = hostJson.singleton;
    return createBlobListener({
      fn,
      blobs: shared(blobServices, connection, () => BlobServiceClient.fromConnectionString(connection)),
      queues: queueService(connection),
      hosts: ofHosts(),
      hostId: options.hostId,
      lease: blobListenerLease(ofHosts(), options.hostId, fn.name, listenerLockPeriod, clock),
      leaseRetryInterval: listenerLockRecoveryPollingInterval,
      options: hostJson.extensions.blobs,
      invoker,
      logger,
      clock,
    });
  }

  function timer(fn: AppFunction<TimerTrigger>): TriggerListener {
    const { listenerLockPeriod, listenerLockRecoveryPollingInterval } = hostJson.singleton;
    const schedule = parseSchedule(fn.trigger.schedule);
    const container = ofHosts();
    return createTimerListener({
      fn,
      schedule,
      statusStore:
        (fn.trigger.useMonitor ?? true) && isSlow(schedule, clock.now())
          ? blobScheduleStatus(container, options.hostId, fn.name)
          : undefined,
      lease: options.timerSingleton
        ? blobListenerLease(container, options.hostId, fn.name, listenerLockPeriod, clock)
        : undefined,
      leaseRetryInterval: listenerLockRecoveryPollingInterval,
      invoker,
      logger,
      clock,
    });
  }

  const listeners: TriggerListener[] = [];
  const problems: string[] = [];
  for (const fn of functions) {
    try {
      const listener = await create(fn);
      if (listener !== undefined) listeners.push(listener);
    } catch (error) {
      problems.push(`function ${fn.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (problems.length > 0) throw new HostStartError(problems.join('\n'));
  await hostsContainer?.createIfNotExists();
  return [
    ...listeners,
    {
      async start() {},
      async stop() {},
      async close() {
        await Promise.all([...serviceBusClients.values()].map((client) => client.close()));
      },
    },
  ];
}

function shared<T>(clients: Map<string, T>, connection: string, create: () => T): T {
  const client = clients.get(connection) ?? create();
  clients.set(connection, client);
  return client;
}
