import { TableClient } from '@azure/data-tables';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { type QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { HostStartError } from '../hostStartError.ts';

/**
 * The resources of a task hub, named as in the Azure Storage backend
 * (https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-azure-storage-provider).
 */
export interface TaskHub {
  name: string;
  controlQueues: QueueClient[];
  workItems: QueueClient;
  history: TableClient;
  instances: TableClient;
  leases: ContainerClient;
  largeMessages: ContainerClient;
}

/**
 * Connects to a task hub and creates what is missing.
 * @throws HostStartError if the name is invalid
 */
export async function openTaskHub(connection: string, name: string, partitions: number): Promise<TaskHub> {
  if (!/^[A-Za-z][A-Za-z0-9]{2,44}$/.test(name)) {
    throw new HostStartError(
      `task hub name "${name}": expected 3 to 45 letters and digits, starting with a letter`,
    );
  }
  const lower = name.toLowerCase();
  const queues = QueueServiceClient.fromConnectionString(connection);
  const blobs = BlobServiceClient.fromConnectionString(connection);
  const table = (suffix: string) =>
    TableClient.fromConnectionString(connection, `${name}${suffix}`, { allowInsecureConnection: true });
  const hub: TaskHub = {
    name,
    controlQueues: Array.from({ length: partitions }, (_, partition) =>
      queues.getQueueClient(`${lower}-control-${String(partition).padStart(2, '0')}`),
    ),
    workItems: queues.getQueueClient(`${lower}-workitems`),
    history: table('History'),
    instances: table('Instances'),
    leases: blobs.getContainerClient(`${lower}-leases`),
    largeMessages: blobs.getContainerClient(`${lower}-largemessages`),
  };
  await Promise.all([
    ...[...hub.controlQueues, hub.workItems, hub.leases, hub.largeMessages].map((one) =>
      one.createIfNotExists(),
    ),
    hub.history.createTable(),
    hub.instances.createTable(),
  ]);
  return hub;
}

/** The control queue of an instance: FNV-1a over its id, as in the extension. */
export function partitionOf(instanceId: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(instanceId)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash % partitions;
}

/** An instance id as a table key. Characters that a key cannot hold become `^XX`. */
export function tableKey(instanceId: string): string {
  return instanceId.replace(/[\\/#?^'\p{Cc}]/gu, (character) => {
    return `^${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}
