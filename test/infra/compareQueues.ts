import { z } from 'zod';
import { bodyValue } from './bicep/bodyValue.ts';
import { isRecord, type Value, variableValue } from './bicep/evaluate.ts';
import type { BicepFile } from './bicep/readBicep.ts';

interface QueueNames {
  storage: readonly string[];
  serviceBus: readonly string[];
}

/** Queues that only the code has (`missing`), and queues that only infra/ has (`idle`). */
export function queueDifferences(code: QueueNames, created: QueueNames) {
  const kinds = ['storage', 'serviceBus'] as const;
  const onlyIn = (of: QueueNames, others: QueueNames) =>
    kinds.flatMap((kind) => of[kind].filter((name) => !others[kind].includes(name)));
  return { missing: onlyIn(code, created), idle: onlyIn(created, code) };
}

/** Names of the queues that storage.bicep creates. */
export function storageQueuesIn(file: BicepFile): string[] {
  return z.array(z.string()).parse(variableValue(file, 'queues'));
}

/** The queues that serviceBus.bicep creates. */
export function serviceBusQueuesIn(file: BicepFile): { name: string; properties: Value }[] {
  return [...file.resources.values()]
    .filter(({ type }) => type.startsWith('Microsoft.ServiceBus/namespaces/queues@'))
    .map(({ name }) => {
      const body = bodyValue(file, name);
      if (!isRecord(body) || typeof body.name !== 'string') throw new Error(`${name} has no name`);
      return { name: body.name, properties: body.properties ?? null };
    });
}
