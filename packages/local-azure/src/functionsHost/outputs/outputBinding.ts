import { z } from 'zod';
import type { Binding } from '../coreTypes.ts';
import { parseBinding } from '../parseBinding.ts';
import { connectionString, resolveNames, type Settings } from '../settings.ts';

/** Where a function's return value or extra output goes. `connection` is a connection string. */
export type OutputBinding = QueueOutput | CosmosOutput;

interface Output {
  /** The name that carries the value; `$return` for the return value. */
  name: string;
  connection: string;
}

export interface QueueOutput extends Output {
  kind: 'storageQueue' | 'serviceBusQueue';
  queueName: string;
}

export interface CosmosOutput extends Output {
  kind: 'cosmos';
  databaseName: string;
  containerName: string;
  /** Creates the database and the container, with the partition key below. */
  createIfNotExists: boolean;
  /** Its path. Default: `/id`. */
  partitionKey?: string | undefined;
}

const queueBinding = z.object({
  queueName: z.string(),
  connection: z.string().default('AzureWebJobsStorage'),
});

const cosmosBinding = z.object({
  connection: z.string(),
  databaseName: z.string(),
  containerName: z.string(),
  createIfNotExists: z.boolean().default(false),
  partitionKey: z.string().optional(),
});

/**
 * Reads an output binding. Undefined if this host has no such type.
 *
 * @throws HostStartError if it lacks its queue or its connection
 */
export function readOutput(name: string, binding: Binding, settings: Settings): OutputBinding | undefined {
  if (binding.type.toLowerCase() === 'cosmosdb') return cosmosOutput(name, binding, settings);
  const kinds: Record<string, QueueOutput['kind']> = {
    queue: 'storageQueue',
    servicebus: 'serviceBusQueue',
  };
  const kind = kinds[binding.type.toLowerCase()];
  if (kind === undefined) return undefined;
  // A topic takes messages as a queue does.
  const target = { ...binding, queueName: binding.queueName ?? binding.topicName };
  const { queueName, connection } = parseBinding(queueBinding, target);
  const resolved = resolveNames(queueName, settings);
  return {
    name,
    kind,
    queueName: kind === 'storageQueue' ? resolved.toLowerCase() : resolved,
    connection: connectionString(connection, settings),
  };
}

function cosmosOutput(name: string, binding: Binding, settings: Settings): CosmosOutput {
  const options = parseBinding(cosmosBinding, binding);
  return {
    name,
    kind: 'cosmos',
    ...options,
    databaseName: resolveNames(options.databaseName, settings),
    containerName: resolveNames(options.containerName, settings),
    connection: connectionString(options.connection, settings),
  };
}
