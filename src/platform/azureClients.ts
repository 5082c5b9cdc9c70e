import { type Container, CosmosClient } from '@azure/cosmos';
import { DefaultAzureCredential, type TokenCredential } from '@azure/identity';
import { ServiceBusClient, type ServiceBusClientOptions, type ServiceBusSender } from '@azure/service-bus';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import type { Connections } from './connections.ts';
import { containers, databaseName } from './cosmosContainers.ts';

/** The clients of one process, made once because each keeps its connections. */
export interface AzureClients {
  containers: Record<keyof typeof containers, Container>;
  blobs: BlobServiceClient;
  queues: QueueServiceClient;
  sender: (queue: string) => ServiceBusSender;
  serviceBus: ServiceBusClient;
  /** Another client of Service Bus, with connections and options of its own. Its maker closes it. */
  connectServiceBus: (options: ServiceBusClientOptions) => ServiceBusClient;
  close: () => Promise<void>;
}

/** Time-out of one request with its retries, in milliseconds: a request that hangs must not outlive a claim. */
const requestTimeoutMs = 10_000;

/**
 * Milliseconds. By default the SDK waits 30 s between tries, and a send on a lost connection fails only after its time-out,
 * so one lost connection held up a run, and the leases of its groups, for 40 s (measured; now 6 s). The outbox sends later
 * what is not sent now, so waiting here gains nothing.
 */
const serviceBusRetries = { maxRetries: 1, retryDelayInMs: 500, timeoutInMs: 5_000 };

/** The identity of the app. */
export function credentialOf(clientId: string | undefined): TokenCredential {
  return new DefaultAzureCredential(clientId === undefined ? {} : { managedIdentityClientId: clientId });
}

/** A client of Service Bus. Its maker closes it. */
function serviceBusClient(
  { serviceBus, clientId }: Pick<Connections, 'serviceBus' | 'clientId'>,
  options: ServiceBusClientOptions = { retryOptions: serviceBusRetries },
): ServiceBusClient {
  return serviceBus.kind === 'connectionString'
    ? new ServiceBusClient(serviceBus.value, options)
    : new ServiceBusClient(serviceBus.namespace, credentialOf(clientId), options);
}

/** Makes the clients: by connection string, or by the identity of the app. */
export function azureClients(connections: Connections): AzureClients {
  const { cosmos, storage, clientId } = connections;
  const connectionPolicy = {
    requestTimeout: requestTimeoutMs,
    retryOptions: { maxRetryAttemptCount: 5, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 10 },
  };
  const cosmosClient = new CosmosClient(
    cosmos.kind === 'connectionString'
      ? { connectionString: cosmos.value, connectionPolicy }
      : { endpoint: cosmos.endpoint, aadCredentials: credentialOf(clientId), connectionPolicy },
  );
  const serviceBus = serviceBusClient(connections);
  const database = cosmosClient.database(databaseName);
  const senders = new Map<string, ServiceBusSender>();
  return {
    containers: {
      invoices: database.container(containers.invoices.name),
      workItems: database.container(containers.workItems.name),
      runs: database.container(containers.runs.name),
      pace: database.container(containers.pace.name),
      audit: database.container(containers.audit.name),
      locks: database.container(containers.locks.name),
    },
    blobs:
      storage.kind === 'connectionString'
        ? BlobServiceClient.fromConnectionString(storage.value)
        : new BlobServiceClient(storage.blobEndpoint, credentialOf(clientId)),
    queues:
      storage.kind === 'connectionString'
        ? QueueServiceClient.fromConnectionString(storage.value)
        : new QueueServiceClient(storage.queueEndpoint, credentialOf(clientId)),
    serviceBus,
    connectServiceBus: (options) => serviceBusClient(connections, options),
    sender(queue) {
      const sender = senders.get(queue) ?? serviceBus.createSender(queue);
      senders.set(queue, sender);
      return sender;
    },
    async close() {
      cosmosClient.dispose();
      await serviceBus.close();
    },
  };
}
