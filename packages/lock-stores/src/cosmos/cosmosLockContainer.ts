import type { Container } from '@azure/cosmos';

/** Properties that the container of locks must have. With this TTL an item expires only if it says so. */
export const cosmosLockContainer = { partitionKey: '/lock', defaultTtl: -1 } as const;

/** @throws RangeError if the account or container is such that leases would not exclude each other, or would never end. */
export async function checkLockContainer(container: Container, abortSignal: AbortSignal): Promise<void> {
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
