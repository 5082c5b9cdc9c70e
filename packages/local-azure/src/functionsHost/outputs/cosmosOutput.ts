import { type Container, CosmosClient } from '@azure/cosmos';
import type { InvocationResponse } from '../coreTypes.ts';
import { fromTypedData } from '../typedData.ts';
import type { CosmosOutput } from './outputBinding.ts';

export type CosmosWriter = ReturnType<typeof createCosmosWriter>;

/** Upserts what functions return as documents. An array is one document each. */
export function createCosmosWriter() {
  const clients = new Map<string, CosmosClient>();
  const containers = new Map<string, Promise<Container>>();

  async function open(output: CosmosOutput): Promise<Container> {
    const { connection, databaseName, containerName, createIfNotExists, partitionKey } = output;
    const client = clients.get(connection) ?? new CosmosClient(connection);
    clients.set(connection, client);
    if (!createIfNotExists) return client.database(databaseName).container(containerName);
    const { database } = await client.databases.createIfNotExists({ id: databaseName });
    const { container } = await database.containers.createIfNotExists({
      id: containerName,
      partitionKey: { paths: [partitionKey ?? '/id'] },
    });
    return container;
  }

  function containerOf(output: CosmosOutput): Promise<Container> {
    const key = [output.connection, output.databaseName, output.containerName].join('\n');
    const known = containers.get(key) ?? open(output);
    containers.set(key, known);
    known.catch(() => containers.delete(key));
    return known;
  }

  return {
    /** @throws if a document cannot be written, or is none */
    async write(output: CosmosOutput, data: InvocationResponse['returnValue']): Promise<void> {
      const value = fromTypedData(data);
      const documents: unknown[] = Array.isArray(value) ? value : value == null ? [] : [value];
      for (const document of documents) {
        const parsed: unknown = typeof document === 'string' ? JSON.parse(document) : document;
        await (await containerOf(output)).items.upsert(parsed);
      }
    },
    close(): void {
      for (const client of clients.values()) client.dispose();
    },
  };
}
