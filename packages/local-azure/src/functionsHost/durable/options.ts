import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { HostStartError } from '../hostStartError.ts';
import { parseTimeSpan } from '../timeSpan.ts';

const timeSpan = z.string().transform((text, context) => {
  const ms = parseTimeSpan(text);
  if (ms === undefined) context.addIssue(`expected a time span hh:mm:ss, got ${JSON.stringify(text)}`);
  return ms ?? 0;
});
/** The real host refuses less than a minute, and stays in state Error (measured with version 2.13 of the extension). */
const visibilityTimeout = timeSpan
  .refine((ms) => ms >= 60_000, 'expected at least 00:01:00, as the real host does')
  .default(5 * 60_000);
const perCore = z
  .int()
  .min(1)
  .default(10 * availableParallelism());

/**
 * `extensions.durableTask` of host.json. One default differs from the extension's, since nobody pays for requests here:
 * polling at least once a second instead of every 30 s.
 */
const durableTask = z.looseObject({
  maxConcurrentActivityFunctions: perCore,
  maxConcurrentOrchestratorFunctions: perCore,
  overridableExistingInstanceStates: z.enum(['NonRunningStates', 'AnyState']).default('NonRunningStates'),
  storageProvider: z
    .looseObject({
      type: z
        .string()
        .refine((type) => /^azure_?storage$/i.test(type), 'only Azure Storage is supported')
        .default('AzureStorage'),
      partitionCount: z.int().min(1).max(16).default(4),
      controlQueueBatchSize: z.int().min(1).max(32).default(32),
      controlQueueVisibilityTimeout: visibilityTimeout,
      workItemQueueVisibilityTimeout: visibilityTimeout,
      maxQueuePollingInterval: timeSpan.default(1000),
      leaseInterval: timeSpan.default(30_000),
      leaseRenewInterval: timeSpan.default(10_000),
      leaseAcquireInterval: timeSpan.default(2000),
    })
    .prefault({}),
});
export type DurableOptions = z.output<typeof durableTask>;

/** @throws HostStartError naming every invalid member */
export function readDurableOptions(section: unknown): DurableOptions {
  const parsed = durableTask.safeParse(section ?? {});
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => `  ${path.join('.') || '(all)'}: ${message}`);
  throw new HostStartError(`host.json, extensions.durableTask:\n${wrong.join('\n')}`);
}
