import { z } from 'zod';
import type { Binding } from '../coreTypes.ts';
import { HostStartError, Unsupported } from '../hostStartError.ts';
import { connectionString, resolveNames, type Settings } from '../settings.ts';

/** Where a function's return value or extra output goes. */
export interface OutputBinding {
  /** The name that carries the value; `$return` for the return value. */
  name: string;
  kind: 'storageQueue' | 'serviceBusQueue';
  queueName: string;
  /** A connection string. */
  connection: string;
}

const queueBinding = z.object({
  queueName: z.string(),
  connection: z.string().default('AzureWebJobsStorage'),
});

/**
 * Reads an output binding. Undefined if this host has no such type.
 *
 * @throws HostStartError if it lacks its queue or its connection
 */
export function readOutput(name: string, binding: Binding, settings: Settings): OutputBinding | undefined {
  const kinds: Record<string, OutputBinding['kind']> = {
    queue: 'storageQueue',
    servicebus: 'serviceBusQueue',
  };
  const kind = kinds[binding.type.toLowerCase()];
  if (kind === undefined) return undefined;
  if (binding.topicName !== undefined)
    throw new Unsupported(`${binding.type}: only queues are supported, not topics`);
  const parsed = queueBinding.safeParse(binding);
  if (!parsed.success)
    throw new HostStartError(
      `${binding.type}: ${parsed.error.issues.map(({ message }) => message).join('; ')}`,
    );
  const { queueName, connection } = parsed.data;
  const resolved = resolveNames(queueName, settings);
  return {
    name,
    kind,
    queueName: kind === 'storageQueue' ? resolved.toLowerCase() : resolved,
    connection: connectionString(connection, settings),
  };
}
