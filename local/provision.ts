import { CosmosClient } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { blobContainers, queues } from '../src/platform/azureNames.ts';
import { containers, databaseName, indexingPolicy } from '../src/platform/cosmosContainers.ts';

/** The queues of Service Bus, as infra/ creates them. */
export const serviceBusConfig = new URL('./serviceBusConfig.json', import.meta.url);

/** Creates in a local cloud what infra/ creates in Azure. Leaves existing containers and queues alone. */
export async function provision({ storage, cosmos }: { storage: string; cosmos: string }): Promise<void> {
  await Promise.all([provisionStorage(storage), provisionCosmos(cosmos)]);
}

/** Creates the blob containers and queues. */
async function provisionStorage(connectionString: string): Promise<void> {
  const blobs = BlobServiceClient.fromConnectionString(connectionString);
  const queueService = QueueServiceClient.fromConnectionString(connectionString);
  await Promise.all([
    ...Object.values(blobContainers).map((name) => blobs.getContainerClient(name).createIfNotExists()),
    ...Object.values(queues).map((name) => queueService.getQueueClient(name).createIfNotExists()),
  ]);
}

/** Creates the Cosmos database and its containers. */
export async function provisionCosmos(connectionString: string): Promise<void> {
  using client = new DisposableCosmosClient(connectionString);
  const { database } = await client.databases.createIfNotExists({ id: databaseName });
  await Promise.all(
    Object.values(containers).map((definition) =>
      database.containers.createIfNotExists({
        id: definition.name,
        partitionKey: { paths: [definition.partitionKey], version: 2 },
        indexingPolicy: indexingPolicy(definition),
        ...('defaultTtl' in definition ? { defaultTtl: definition.defaultTtl } : {}),
      }),
    ),
  );
}

/** The SDK's client refreshes its endpoints in the background until disposed. */
class DisposableCosmosClient extends CosmosClient {
  [Symbol.dispose](): void {
    this.dispose();
  }
}
