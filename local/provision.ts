import { CosmosClient } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { blobContainers, queues } from '../src/platform/azureNames.ts';
import { containers, databaseName, indexingPolicy } from '../src/platform/cosmosContainers.ts';

/** Creates in a local cloud what infra/ creates in Azure: containers and queues. What is there already stays as it is. */
export async function provision({ storage, cosmos }: { storage: string; cosmos: string }): Promise<void> {
  using client = new DisposableCosmosClient(cosmos);
  const { database } = await client.databases.createIfNotExists({ id: databaseName });
  const blobs = BlobServiceClient.fromConnectionString(storage);
  const queueService = QueueServiceClient.fromConnectionString(storage);
  await Promise.all([
    ...Object.values(containers).map((definition) =>
      database.containers.createIfNotExists({
        id: definition.name,
        partitionKey: { paths: [definition.partitionKey], version: 2 },
        indexingPolicy: indexingPolicy(definition),
        ...('defaultTtl' in definition ? { defaultTtl: definition.defaultTtl } : {}),
      }),
    ),
    ...Object.values(blobContainers).map((name) => blobs.getContainerClient(name).createIfNotExists()),
    ...Object.values(queues).map((name) => queueService.getQueueClient(name).createIfNotExists()),
  ]);
}

/** The SDK's client refreshes its endpoints in the background until it is disposed of. */
class DisposableCosmosClient extends CosmosClient {
  [Symbol.dispose](): void {
    this.dispose();
  }
}
