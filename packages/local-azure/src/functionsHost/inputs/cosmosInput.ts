import { CosmosClient, type JSONValue } from '@azure/cosmos';
import { boundValue, fillIn } from '../bindingData.ts';
import type { CosmosInput } from './inputBinding.ts';

/** Reads documents for functions: one by its id, or those of a query, or all of the container. */
export function createCosmosReader() {
  const clients = new Map<string, CosmosClient>();
  return {
    async read(input: CosmosInput, data: Record<string, unknown>): Promise<unknown> {
      const { connection, databaseName, containerName, id, partitionKey, sqlQuery } = input;
      const client = clients.get(connection) ?? new CosmosClient(connection);
      clients.set(connection, client);
      const container = client.database(fillIn(databaseName, data)).container(fillIn(containerName, data));
      const key = partitionKey === undefined ? undefined : fillIn(partitionKey, data);
      if (id !== undefined) return (await container.item(fillIn(id, data), key).read()).resource;
      const query = parameterized(sqlQuery ?? 'SELECT * FROM c', data);
      const options = key === undefined ? {} : { partitionKey: key };
      return (await container.items.query(query, options).fetchAll()).resources;
    },
    close(): void {
      for (const client of clients.values()) client.dispose();
    },
  };
}

/** Each `{name}` in a query becomes a parameter, so that no value can change the query. */
function parameterized(sqlQuery: string, data: Record<string, unknown>) {
  const parameters: { name: string; value: JSONValue }[] = [];
  const query = sqlQuery.replaceAll(/\{([^{}]+)\}/g, (_, expression: string) => {
    const name = `@p${parameters.length}`;
    parameters.push({ name, value: boundValue(expression, data) as JSONValue });
    return name;
  });
  return { query, parameters };
}
