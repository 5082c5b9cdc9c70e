import { type Container, CosmosClient } from '@azure/cosmos';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';

/** The container of locks, through a client of its own with the settings of the SDK. */
export function lockContainer(connectionString: string): Container {
  return new CosmosClient(connectionString).database(databaseName).container(containers.locks.name);
}
