import { type Container, CosmosClient } from '@azure/cosmos';
import { type Cosmos, startCosmos } from '../../../src/cosmos/index.ts';

/** The same items in one partition key range and in several. */
export interface TwoContainers extends AsyncDisposable {
  one: Container;
  several: Container;
  /** The stand-in of the second. */
  server: Cosmos;
  client: CosmosClient;
}

const composite = [
  [
    { path: '/kind', order: 'ascending' as const },
    { path: '/n', order: 'descending' as const },
  ],
];

export const partitions = 4;

export async function twoContainers(
  items: readonly { id: string; pk: string }[] = [],
): Promise<TwoContainers> {
  const alone = await open(1);
  const split = await open(partitions);
  for (const { container } of [alone, split]) {
    for (const item of items) await container.items.create(item);
  }
  return {
    one: alone.container,
    several: split.container,
    server: split.server,
    client: split.client,
    async [Symbol.asyncDispose]() {
      await alone.close();
      await split.close();
    },
  };
}

async function open(count: number) {
  const server = await startCosmos({ partitions: count });
  const client = new CosmosClient(server.connectionString);
  const { database } = await client.databases.create({ id: 'd' });
  const { container } = await database.containers.create({
    id: 'c',
    partitionKey: { paths: ['/pk'], version: 2 },
    indexingPolicy: { indexingMode: 'consistent', compositeIndexes: composite },
  });
  return {
    server,
    client,
    container,
    async close() {
      client.dispose();
      await server.stop();
    },
  };
}
