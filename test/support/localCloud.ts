import { CosmosClient } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { provision, serviceBusConfig } from '../../local/provision.ts';
import { startPayments } from '../../local/stripe/index.ts';
import { startAzurite } from '../../packages/local-azure/src/azurite.ts';
import { startCosmos } from '../../packages/local-azure/src/cosmos/index.ts';
import { startServiceBus } from '../../packages/local-azure/src/serviceBus/index.ts';
import { endWithProcess } from './endWithProcess.ts';
import { severalRanges } from './payonceCosmos.ts';

/** Addresses of one cloud's services. */
export interface CloudAddresses {
  /** Connection strings. */
  storage: string;
  cosmos: string;
  serviceBus: string;
  /** `http://127.0.0.1:PORT` of the payment stand-in, and its key. */
  payments: string;
  paymentsKey: string;
  /** `http://127.0.0.1:PORT` for `/_local/stats` and `/_local/faults` of Service Bus. */
  serviceBusLocal: string;
}

/** A private cloud in memory, with clients that bypass every proxy so that a test can check the outcome. */
export interface LocalCloud extends AsyncDisposable, CloudAddresses {
  cosmosClient: CosmosClient;
  blobs: BlobServiceClient;
  queues: QueueServiceClient;
}

export interface CloudOptions {
  /** File in the official emulator's Config.json format; absent: the local cloud's. */
  serviceBusConfig?: string;
  /** Milliseconds until search finds a payment; absent: a minute. */
  searchLagMs?: number;
}

/**
 * Starts everything the app needs: Cosmos, Service Bus and payments in this process, Azurite in a child
 * process. Azurite collects no garbage: that would block storage for half a minute in the middle of a long
 * run.
 */
export async function startLocalCloud(options: CloudOptions = {}): Promise<LocalCloud> {
  await using starting = new AsyncDisposableStack();
  const { searchLagMs } = options;
  const azurite = starting.use(await startAzurite({ collectGarbage: false }));
  starting.use(endWithProcess(() => process.kill(azurite.pid)));
  const cosmos = starting.use(await startCosmos({ partitions: severalRanges }));
  const serviceBus = starting.use(
    await startServiceBus({ config: options.serviceBusConfig ?? serviceBusConfig }),
  );
  const payments = starting.use(await startPayments(searchLagMs === undefined ? {} : { searchLagMs }));
  await provision({ storage: azurite.connectionString, cosmos: cosmos.connectionString });
  const cosmosClient = new CosmosClient(cosmos.connectionString);
  starting.defer(() => cosmosClient.dispose());
  const running = starting.move();
  return {
    storage: azurite.connectionString,
    cosmos: cosmos.connectionString,
    serviceBus: serviceBus.connectionString,
    payments: payments.baseUrl,
    paymentsKey: payments.secretKey,
    serviceBusLocal: serviceBus.localAddress,
    cosmosClient,
    blobs: BlobServiceClient.fromConnectionString(azurite.connectionString),
    queues: QueueServiceClient.fromConnectionString(azurite.connectionString),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The settings that point a host at a cloud. */
export function settingsFor(cloud: CloudAddresses): Record<string, string> {
  return {
    AzureWebJobsStorage: cloud.storage,
    Cosmos: cloud.cosmos,
    ServiceBus: cloud.serviceBus,
    STRIPE_SECRET_KEY: cloud.paymentsKey,
    STRIPE_API_BASE: cloud.payments,
    PAYMENT_RATE: '5000',
  };
}
