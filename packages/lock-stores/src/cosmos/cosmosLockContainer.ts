import type { OperationInput, PatchRequestBody, SqlQuerySpec } from '@azure/cosmos';

interface Cancelling {
  abortSignal: AbortSignal;
}

/** A `Container` by its shape, since `import` and `require` load different classes of it. */
export interface CosmosLocks {
  readonly id: string;
  readonly database: {
    readonly client: {
      getDatabaseAccount(
        options: Cancelling,
      ): Promise<{ resource?: { enableMultipleWritableLocations?: boolean } | undefined }>;
    };
  };
  readonly items: {
    batch(
      operations: OperationInput[],
      partition: string,
      options: Cancelling & { contentResponseOnWriteEnabled: boolean },
    ): Promise<{ result?: { statusCode: number }[] | undefined }>;
    query<T>(query: SqlQuerySpec, options: Cancelling): { fetchAll(): Promise<{ resources: T[] }> };
  };
  item(
    id: string,
    partition: string,
  ): {
    read(options: Cancelling): Promise<{ resource?: unknown }>;
    patch(body: PatchRequestBody, options: Cancelling): Promise<unknown>;
  };
  read(
    options: Cancelling,
  ): Promise<{ resource?: { partitionKey?: { paths: string[] }; defaultTtl?: number } | undefined }>;
}

/** Properties that the container of locks must have. With this TTL an item expires only if it says so. */
export const cosmosLockContainer = { partitionKey: '/lock', defaultTtl: -1 } as const;

/** @throws RangeError if the account or container is such that leases would not exclude each other, or would never end. */
export async function checkLockContainer(container: CosmosLocks, abortSignal: AbortSignal): Promise<void> {
  const { client } = container.database;
  const [account, { resource: found }] = await Promise.all([
    client.getDatabaseAccount({ abortSignal }),
    container.read({ abortSignal }),
  ]);
  if (account.resource?.enableMultipleWritableLocations === true) {
    throw new RangeError('The Cosmos account has several write regions, and each would grant the same lock');
  }
  const { partitionKey, defaultTtl } = cosmosLockContainer;
  if (found?.partitionKey?.paths.join() !== partitionKey || found.defaultTtl !== defaultTtl) {
    const must = `must have the partition key ${partitionKey} and the default TTL ${defaultTtl}`;
    throw new RangeError(`The container "${container.id}" ${must}`);
  }
}
