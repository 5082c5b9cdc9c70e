import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { HostStartError } from './hostStartError.ts';
import { parseTimeSpan } from './timeSpan.ts';

/** Prefix of settings that override host.json: `AzureFunctionsJobHost__extensions__queues__batchSize=1`. */
const overridePrefix = 'AzureFunctionsJobHost__';

function parseMs(text: string, context: z.RefinementCtx): number {
  const ms = parseTimeSpan(text);
  if (ms === undefined) context.addIssue(`expected a time span hh:mm:ss, got ${JSON.stringify(text)}`);
  return ms ?? 0;
}
const timeSpan = z.string().transform(parseMs);

const http = z.looseObject({ routePrefix: z.string().default('api') });

const queues = z
  .looseObject({
    batchSize: z.int().min(1).max(32).default(16),
    newBatchThreshold: z.int().min(0).optional(),
    maxDequeueCount: z.int().min(1).default(5),
    maxPollingInterval: timeSpan.default(60_000),
    visibilityTimeout: timeSpan.default(0),
    messageEncoding: z.enum(['base64', 'none']).default('base64'),
  })
  .transform(({ newBatchThreshold, ...rest }) => ({
    ...rest,
    newBatchThreshold: newBatchThreshold ?? Math.floor(rest.batchSize / 2),
  }));

const blobs = z.looseObject({
  maxDegreeOfParallelism: z
    .int()
    .min(1)
    .default(8 * availableParallelism()),
  poisonBlobThreshold: z.int().min(1).default(5),
});

const serviceBus = z.looseObject({
  autoCompleteMessages: z.boolean().default(true),
  maxConcurrentCalls: z
    .int()
    .min(1)
    .default(16 * availableParallelism()),
  maxAutoLockRenewalDuration: timeSpan.default(5 * 60_000),
  prefetchCount: z.int().min(0).default(0),
  maxMessageBatchSize: z.int().min(1).default(1000),
  maxConcurrentSessions: z.int().min(1).default(8),
  sessionIdleTimeout: timeSpan.default(60_000),
});

const hostJson = z.looseObject({
  version: z.literal('2.0'),
  functionTimeout: z
    .string()
    .transform((text, context) => (text === '-1' ? Number.POSITIVE_INFINITY : parseMs(text, context)))
    .default(30 * 60_000),
  logging: z.looseObject({ logLevel: z.record(z.string(), z.string()).default({}) }).prefault({}),
  singleton: z
    .looseObject({
      listenerLockPeriod: timeSpan
        .refine((ms) => ms >= 15_000 && ms <= 60_000, 'expected 15 s to 60 s')
        .default(60_000),
      listenerLockRecoveryPollingInterval: timeSpan.default(60_000),
    })
    .prefault({}),
  extensions: z
    .looseObject({
      http: http.prefault({}),
      queues: queues.prefault({}),
      blobs: blobs.prefault({}),
      serviceBus: serviceBus.prefault({}),
      durableTask: z.looseObject({ hubName: z.string().optional() }).prefault({}),
    })
    .prefault({}),
});

/** host.json with defaults filled in; time spans are in milliseconds. */
export type HostJson = z.output<typeof hostJson>;
export type QueuesOptions = HostJson['extensions']['queues'];
export type ServiceBusOptions = HostJson['extensions']['serviceBus'];

/**
 * Reads the app's host.json and applies the overriding settings.
 * @throws HostStartError naming every invalid member
 */
export function readHostJson(appDir: string, settings: NodeJS.ProcessEnv): HostJson {
  const path = join(appDir, 'host.json');
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new HostStartError(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
  return parseHostJson(content, settings, path);
}

export function parseHostJson(content: unknown, settings: NodeJS.ProcessEnv, path = 'host.json'): HostJson {
  const overridden = structuredClone(content);
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith(overridePrefix) && value !== undefined) {
      override(overridden, name.slice(overridePrefix.length).split('__'), value);
    }
  }
  const parsed = hostJson.safeParse(overridden);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(
    ({ path: at, message }) => `  ${at.join('.') || '(all)'}: ${message}`,
  );
  throw new HostStartError(`${path} is invalid:\n${wrong.join('\n')}`);
}

/** Sets the member at `path`. Matches existing members case-insensitively. */
function override(target: unknown, path: string[], value: string): void {
  const [name, ...rest] = path;
  if (name === undefined || typeof target !== 'object' || target === null) return;
  const members = target as Record<string, unknown>;
  const key = Object.keys(members).find((known) => known.toLowerCase() === name.toLowerCase()) ?? name;
  if (rest.length > 0) {
    members[key] ??= {};
    override(members[key], rest, value);
  } else {
    const isJson = /^(true|false|-?\d+)$/i.test(value) && key !== 'functionTimeout';
    members[key] = isJson ? JSON.parse(value.toLowerCase()) : value;
  }
}

const known: Record<string, readonly string[]> = {
  http: Object.keys(http.shape),
  queues: Object.keys(queues.in.shape),
  blobs: Object.keys(blobs.shape),
  serviceBus: Object.keys(serviceBus.shape),
};

/** Members under `extensions` that this host ignores, as `section.name`. */
export function ignoredMembers({ extensions }: HostJson): string[] {
  return Object.entries(extensions).flatMap(([section, members]) => {
    if (section === 'durableTask') return [];
    const names = known[section];
    if (names === undefined || typeof members !== 'object' || members === null) return [section];
    return Object.keys(members)
      .filter((name) => !names.includes(name))
      .map((name) => `${section}.${name}`);
  });
}
