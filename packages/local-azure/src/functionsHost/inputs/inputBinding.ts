import { z } from 'zod';
import type { Binding, TypedData } from '../coreTypes.ts';
import { parseBinding } from '../parseBinding.ts';
import { connectionString, resolveNames, type Settings } from '../settings.ts';
import type { createCosmosReader } from './cosmosInput.ts';

const cosmosBinding = z.object({
  connection: z.string(),
  databaseName: z.string(),
  containerName: z.string(),
  id: z.string().optional(),
  partitionKey: z.string().optional(),
  sqlQuery: z.string().optional(),
});

/** Documents of Cosmos DB that a function gets besides its trigger. `connection` is a connection string. */
export type CosmosInput = z.output<typeof cosmosBinding> & { name: string };

/** Reads an input binding. Undefined if this host has no such type. @throws HostStartError if it lacks a member */
export function readInput(name: string, binding: Binding, settings: Settings): CosmosInput | undefined {
  if (binding.type.toLowerCase() !== 'cosmosdb') return undefined;
  const options = parseBinding(cosmosBinding, binding);
  const resolved = Object.entries(options).map(([key, text]) => [key, text && resolveNames(text, settings)]);
  return {
    ...(Object.fromEntries(resolved) as typeof options),
    name,
    connection: connectionString(options.connection, settings),
  };
}

/** Reads what functions get besides their trigger. */
export function createInputReader() {
  let cosmos: Promise<ReturnType<typeof createCosmosReader>> | undefined;
  return {
    /** Rejects if one cannot be read, which fails the invocation. */
    async read(inputs: readonly CosmosInput[], data: Record<string, unknown>) {
      const read: { name: string; data: TypedData }[] = [];
      for (const input of inputs) {
        cosmos ??= import('./cosmosInput.ts').then(({ createCosmosReader }) => createCosmosReader());
        const value = await (await cosmos).read(input, data);
        read.push({ name: input.name, data: { json: JSON.stringify(value ?? null) } });
      }
      return read;
    },
    async close() {
      (await cosmos)?.close();
    },
  };
}
